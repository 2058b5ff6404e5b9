import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

/**
 * The kind of a possible change. Hints can be lost: a listener that needs every change polls as well.
 *
 * `everything`: a new connection, which may have missed hints. `changed`: in Postgres. `programmed`: the
 * worker has recorded what the data plane has. `of_organization`: one of its keys or payments, by its id.
 * `answered`: a check of a payment, by its id.
 */
export type Hint =
  | { readonly kind: 'everything' }
  | { readonly kind: 'changed'; readonly what: (typeof changes)[number] }
  | { readonly kind: 'programmed'; readonly what: 'keys' | 'routes' }
  | { readonly kind: 'answered'; readonly what: 'payment_checks'; readonly id: string }
  | {
      readonly kind: 'of_organization'
      readonly what: 'keys' | 'payments'
      readonly organizationId: string
      readonly id: string
    }

export type HintOptions = {
  readonly databaseUrl: string
  /** Seen in pg_stat_activity: which process this is. */
  readonly applicationName: string
  readonly listenTo: readonly Exclude<Hint['kind'], 'everything'>[]
  readonly onHint: (hint: Hint) => void
}

const changes = ['keys', 'catalogue', 'credits', 'letters', 'webhooks', 'telegram', 'payments'] as const

const channels = {
  changed: 'model_gateway_changes',
  programmed: 'model_gateway_programmed',
  of_organization: 'model_gateway_organizations',
  answered: 'model_gateway_answers',
} as const
const reconnectMs = 500
/** How often a connection is checked, and how long it may take to answer. */
const heartbeatMs = 15_000
const answerMsMax = 5_000
const hangUpMsMax = 1_000

/**
 * Listens on a dedicated connection until it is stopped, and reconnects whenever it is lost. The connection
 * must not go through a pooler that shares connections.
 */
export function listenForHints(options: HintOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let hangUp: () => void = () => undefined

  async function listenOnce(): Promise<void> {
    const client = new Client({
      connectionString: options.databaseUrl,
      application_name: options.applicationName,
      connectionTimeoutMillis: answerMsMax,
      query_timeout: answerMsMax,
      keepAlive: true,
    })
    const lost = Promise.withResolvers<void>()
    hangUp = lost.resolve
    client.on('error', () => lost.resolve())
    client.on('end', () => lost.resolve())
    client.on('notification', ({ channel, payload }) => options.onHint(hintOf(channel, payload)))
    const heartbeat = setInterval(() => client.query('select').catch(() => lost.resolve()), heartbeatMs)
    try {
      await client.connect()
      for (const kind of options.listenTo) await client.query(`listen ${channels[kind]}`)
      options.onHint({ kind: 'everything' })
      await lost.promise
    } finally {
      clearInterval(heartbeat)
      // A server that does not answer does not close the connection either.
      await Promise.race([client.end().catch(() => undefined), pause(hangUpMsMax)])
    }
  }

  async function listen(): Promise<void> {
    while (!stopping.signal.aborted) {
      await listenOnce().catch(() => undefined) // the poller reports an outage of the database
      await pause(reconnectMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const ended = listen()
  return {
    async stop() {
      stopping.abort()
      hangUp()
      await ended
    },
  }
}

/** The hint in a notification. One from a newer version may mean anything. */
function hintOf(channel: string, payload: string | undefined): Hint {
  if (channel === channels.changed && isChange(payload)) return { kind: 'changed', what: payload }
  if (channel === channels.programmed && (payload === 'keys' || payload === 'routes'))
    return { kind: 'programmed', what: payload }
  if (channel === channels.answered && payload !== undefined)
    return { kind: 'answered', what: 'payment_checks', id: payload }
  if (channel === channels.of_organization) {
    const [what, organizationId, id] = (payload ?? '').split(' ')
    if ((what === 'keys' || what === 'payments') && organizationId !== undefined && id !== undefined)
      return { kind: 'of_organization', what, organizationId, id }
  }
  return { kind: 'everything' }
}

function isChange(payload: string | undefined): payload is (typeof changes)[number] {
  return changes.some((known) => known === payload)
}
