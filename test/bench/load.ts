import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'

/** Where a load goes: one of the proxies that are compared. */
export type Target = { readonly origin: string; readonly headers: Readonly<Record<string, string>> }

/** Latencies in ms, one per request, in order of their ends. */
export type Latencies = readonly number[]

/** A request of 1 KB. */
export function bodyOf(model: string, mode: 'plain' | 'stream'): string {
  const messages = [{ role: 'user', content: 'x'.repeat(900) }]
  return JSON.stringify({ model, messages, max_tokens: 200, ...(mode === 'stream' ? { stream: true } : {}) })
}

/**
 * Sends `count` requests over `connections` connections, each the next one after the last one's end; fewer where it is over before.
 *
 * A gateway whose Redis gets no processor answers 503; such answers are counted, and are no latencies.
 */
export async function loadPlain(
  target: Target,
  body: string,
  {
    count,
    connections,
    isOver = () => false,
  }: { readonly count: number; readonly connections: number; readonly isOver?: () => boolean },
): Promise<{ readonly latencies: Latencies; readonly refused: number; readonly seconds: number }> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 })
  const latencies: number[] = []
  const startedAtMs = performance.now()
  let left = count
  let refused = 0
  const worker = async () => {
    while (left-- > 0 && !isOver()) {
      const sentAtMs = performance.now()
      const { status } = await ask(pool, target, body)
      if (status === 200) latencies.push(performance.now() - sentAtMs)
      else refused += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAtMs) / 1000
  await pool.close()
  if (refused > count / 10) throw new Error(`${refused} of ${count} requests were refused`)
  return { latencies, refused, seconds }
}

/** Opens `count` streams, one each `everyMs`, reads them to their ends, and answers the time to each one's first byte. */
export async function loadStreams(
  target: Target,
  body: string,
  { count, everyMs }: { readonly count: number; readonly everyMs: number },
): Promise<Latencies> {
  const pool = new Pool(target.origin, { connections: count, pipelining: 1 })
  const startedAtMs = performance.now()
  const firstBytes = await Promise.all(
    Array.from({ length: count }, async (_, position) => {
      if (everyMs > 0) await pause(startedAtMs + position * everyMs - performance.now())
      const sentAtMs = performance.now()
      const { firstAtMs, end } = await ask(pool, target, body)
      if (!end.includes('[DONE]')) throw new Error(`a stream ended with ${end}`)
      return firstAtMs - sentAtMs
    }),
  )
  await pool.close()
  return firstBytes
}

type Answer = { readonly status: number; readonly firstAtMs: number; readonly end: string }

/** Sends one request and reads its answer, at as little cost as can be: whoever measures shares the processors. */
function ask(pool: Pool, { headers }: Target, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let status = 0
    let firstAtMs = Number.NaN
    let last: Buffer = Buffer.alloc(0)
    pool.dispatch(
      { path: '/v1/chat/completions', method: 'POST', headers: { ...headers }, body },
      {
        onRequestStart() {},
        onResponseStart(_, statusCode) {
          status = statusCode
        },
        onResponseData(_, bytes) {
          if (last.length === 0) firstAtMs = performance.now()
          last = bytes
        },
        onResponseEnd: () =>
          resolve({ status, firstAtMs, end: last.toString('utf8', Math.max(0, last.length - 20)) }),
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

/** The `share` quantile, 0…1, of what was measured. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
