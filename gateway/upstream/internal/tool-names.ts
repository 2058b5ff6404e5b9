import { createHash } from 'node:crypto'

/** What a provider's API takes as the name of a function. */
export type ToolNameRule = {
  /** Matches an allowed character. */
  readonly pattern: RegExp
  /** Matches one that may be the first; absent: any allowed one. */
  readonly firstPattern?: RegExp
  /** In UTF-16 units. */
  readonly lengthMax: number
}

export type ToolNames = {
  /** The name to send to the provider. */
  sent(name: string): string
  /** The caller's name for one of the provider's; one that was never sent is the same. */
  original(sentName: string): string
}

/** Of a name that was changed: enough that two of one request are never the same by chance. */
const hashLength = 8

/**
 * Maps the names of a request's functions to those that an API takes, and back.
 *
 * Names that are allowed stay. Others keep what they can, and end with a hash of the whole: each name is always sent as
 * the same one, so that a provider's cache holds.
 */
export function createToolNames(names: readonly string[], rule: ToolNameRule): ToolNames {
  const sentNames = new Map<string, string>()
  const originals = new Map<string, string>()

  function add(name: string): string {
    let sentName = name
    for (let round = 0; !isAllowed(sentName, rule) || originals.has(sentName); round += 1)
      sentName = allowedName(name, rule, round)
    sentNames.set(name, sentName)
    originals.set(sentName, name)
    return sentName
  }

  // Allowed ones first, so that none of them finds its name taken.
  const allowed = names.filter((name) => isAllowed(name, rule))
  for (const name of [...allowed, ...names]) if (!sentNames.has(name)) add(name)
  return {
    sent: (name) => sentNames.get(name) ?? add(name),
    original: (sentName) => originals.get(sentName) ?? sentName,
  }
}

function isAllowed(name: string, { pattern, firstPattern = pattern, lengthMax }: ToolNameRule): boolean {
  if (name === '' || name.length > lengthMax || !firstPattern.test(name[0] ?? '')) return false
  return name.split('').every((character) => pattern.test(character))
}

function allowedName(
  name: string,
  { pattern, firstPattern, lengthMax }: ToolNameRule,
  round: number,
): string {
  const hash = createHash('sha256').update(`${round}:${name}`).digest('hex').slice(0, hashLength)
  const kept = name
    .slice(0, lengthMax - hashLength - 2)
    .split('')
    .map((character) => (pattern.test(character) ? character : '_'))
    .join('')
  const begun = firstPattern?.test(kept[0] ?? '') === false ? `_${kept}` : kept
  return `${begun}_${hash}`
}
