import { createHash } from 'node:crypto'

/** The first answer to a key. Only requests that were done are remembered. */
export type RememberedAnswer = {
  readonly key: string
  readonly digest: string
  readonly body: object
  readonly atMs: number
  /** Until then the same request is answered with 202. */
  readonly readyAtMs: number
}

/** The provider promises one answer for each key during this time. */
const rememberedForMs = 24 * 60 * 60_000
const rememberedMax = 20_000

export type Idempotence = ReturnType<typeof createIdempotence>

/** @param remember gets each new answer, to be kept elsewhere */
export function createIdempotence(remember: (answer: RememberedAnswer) => void) {
  const answers = new Map<string, RememberedAnswer>()

  function find(key: string, nowMs: number): RememberedAnswer | undefined {
    const answer = answers.get(key)
    return answer !== undefined && nowMs < answer.atMs + rememberedForMs ? answer : undefined
  }

  /** Of one that was kept, or is new. */
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

/** The same for the same request, in whatever order its fields stand. */
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
