import type { Readable } from 'node:stream'
import { Pool } from 'undici'

export type WebhookCall = {
  /** With its query. */
  readonly path?: string
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly body?: string | Buffer | Readable | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** The address that it comes from: Linux lets a client take any of 127.0.0.0/8. */
  readonly from?: string
}

/** Calls a receiver from any address of this machine, over connections that stay open. */
export function createCaller(origin: string) {
  const pools = new Map<string, Pool>()

  function poolOf(localAddress: string): Pool {
    const known = pools.get(localAddress)
    if (known !== undefined) return known
    const pool = new Pool(origin, { localAddress, connections: 16 })
    pools.set(localAddress, pool)
    return pool
  }

  return {
    /** Answers the status. */
    async call({ path = '/', method = 'POST', body, headers = {}, from = '127.0.0.1' }: WebhookCall) {
      const answer = await poolOf(from).request({ path, method, body: body ?? null, headers })
      await answer.body.dump()
      return answer.statusCode
    },
    close: async () => void (await Promise.all([...pools.values()].map((pool) => pool.destroy()))),
  }
}
