import { createHash } from 'node:crypto'

/** The first response for a key. Only requests that were carried out are remembered. */
export type RememberedAnswer = {
  readonly key: string
  readonly digest: string
  readonly body: object
  readonly atMs: number
  /** Until then, the same request gets 202. */
  readonly readyAtMs: number
}

/** The provider guarantees one response per key for this time. */
const rememberedForMs = 24 * 60 * 60_000
const rememberedMax = 20_000

export type Idempotence = ReturnType<typeof createIdempotence>

/** @param remember gets each new response, for storage */
export function createIdempotence(remember: (answer: RememberedAnswer) => void) {
  const answers = new Map<string, RememberedAnswer>()

  function find(key: string, nowMs: number): RememberedAnswer | undefined {
    const answer = answers.get(key)
    return answer !== undefined && nowMs < answer.atMs + rememberedForMs ? answer : undefined
  }

  /** Adds a stored or new response. */
  function put(answer: RememberedAnswer): void {
    answers.delete(answer.key)
    answers.set(answer.key, answer)
    const [oldest] = answers.keys()
    if (answers.size > rememberedMax && oldest !== undefined) answers.delete(oldest)
  }

  return {
    find,
    restore: put,
    add(answer: RememberedAnswer): void {
      put(answer)
      remember(answer)
    },
  }
}

/** Equal for equal requests, regardless of the order of fields. */
export function digestOf(path: string, body: unknown): string {
  return createHash('sha256')
    .update(`${path}\n${JSON.stringify(sorted(body))}`)
    .digest('base64')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, inner]) => [name, sorted(inner)])
}
