import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

/** Channel of the triggers in `cabinet/db/migrations`. */
const channel = 'model_gateway_changes'
const reconnectMs = 500

/** Listens for changes until it is stopped. Hints may be lost; whoever needs every change polls as well. */
export type ChangeHints = { stop(): Promise<void> }

/** Calls `onHint` for each notified change, and after every new connection: it may have missed some. */
export function listenForChanges(databaseUrl: string, onHint: () => void): ChangeHints {
  const stopping = new AbortController()
  let session: Client | undefined

  async function listenOnce(): Promise<void> {
    const client = new Client({
      connectionString: databaseUrl,
      application_name: 'model-gateway-hints',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    })
    session = client
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve())
      client.on('end', () => resolve())
    })
    client.on('notification', onHint)
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
      onHint()
      await lost
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  async function listen(): Promise<void> {
    while (!stopping.signal.aborted) {
      await listenOnce().catch(() => undefined) // the poll reports a database that is away
      await pause(reconnectMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const ended = listen()
  return {
    async stop() {
      stopping.abort()
      await session?.end().catch(() => undefined)
      await ended
    },
  }
}
