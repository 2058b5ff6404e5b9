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
 * Sends `count` requests over `connections` connections, each the next one after the last one's end.
 *
 * A gateway whose Redis gets no processor answers 503; such answers are counted, and are no latencies.
 */
export async function loadPlain(
  target: Target,
  body: string,
  { count, connections }: { readonly count: number; readonly connections: number },
): Promise<{ readonly latencies: Latencies; readonly refused: number; readonly seconds: number }> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 })
  const latencies: number[] = []
  const startedAtMs = performance.now()
  let left = count
  let refused = 0
  const worker = async () => {
    while (left-- > 0) {
      const sentAtMs = performance.now()
      const answer = await pool.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: target.headers,
        body,
      })
      await answer.body.dump({ limit: 1_000_000 })
      if (answer.statusCode === 200) latencies.push(performance.now() - sentAtMs)
      else refused += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAtMs) / 1000
  await pool.close()
  if (refused > count / 10) throw new Error(`${refused} of ${count} requests were refused`)
  return { latencies, refused, seconds }
}

/** Opens `count` streams at once, reads them to their ends, and answers the time to each one's first byte. */
export async function loadStreams(target: Target, body: string, count: number): Promise<Latencies> {
  const pool = new Pool(target.origin, { connections: count, pipelining: 1 })
  const firstBytes = await Promise.all(
    Array.from({ length: count }, async () => {
      const sentAtMs = performance.now()
      const answer = await pool.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: target.headers,
        body,
      })
      let firstAtMs: number | undefined
      let end = ''
      for await (const bytes of answer.body) {
        firstAtMs ??= performance.now()
        end = String(bytes).slice(-20)
      }
      if (!end.includes('[DONE]')) throw new Error(`a stream ended with ${end}`)
      return (firstAtMs ?? Number.NaN) - sentAtMs
    }),
  )
  await pool.close()
  return firstBytes
}

/** The `share` quantile, 0…1, of what was measured. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
