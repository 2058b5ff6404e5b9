import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { quantile } from '../../bench/load.ts'

export type GoodTraffic = {
  readonly medianMs: number
  readonly p99Ms: number
  readonly requests: number
  /** Answers other than 200, by status. */
  readonly errors: Readonly<Record<string, number>>
}

/** Some 150 requests a second: what is measured is how long they wait, not how many there can be. */
const connections = 4
const pauseMs = 20

/** Requests of an honest customer until `isOver`, over connections that were open before. */
export async function sendGoodTraffic(
  origin: string,
  key: string,
  model: string,
  isOver: () => boolean,
): Promise<GoodTraffic> {
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 30_000 })
  const body = JSON.stringify({ model, max_tokens: 200, messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const latencies: number[] = []
  const errors: Record<string, number> = {}
  const lane = async () => {
    while (!isOver()) {
      const sentAtMs = performance.now()
      const status = await pool
        .request({ path: '/v1/chat/completions', method: 'POST', headers, body })
        .then(async (answer) => {
          await answer.body.dump()
          return answer.statusCode
        })
        .catch((error: Error) => error.name)
      latencies.push(performance.now() - sentAtMs)
      if (status !== 200) errors[status] = (errors[status] ?? 0) + 1
      await pause(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: connections }, lane))
  await pool.destroy()
  return {
    medianMs: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    requests: latencies.length,
    errors,
  }
}
