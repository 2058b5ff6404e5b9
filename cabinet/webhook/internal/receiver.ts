import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { DatabaseError, type Pool } from 'pg'
import { z } from 'zod'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { callerAddress } from '#core/process/caller-address'
import { errorName } from '#core/process/error-name'
import { findJson } from '#core/process/json'
import type { Log } from '#core/process/log'
import { createNetworks } from '#core/process/networks'
import { securityHeaders } from '#core/process/security-headers'
import type { WebhookConfig } from '../config.ts'
import type { WebhookMetrics } from '../metrics.ts'
import { createCountedLog } from './counted-log.ts'

/** Responds to a request that may be a notification. Never throws. */
export type Receiver = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export type ReceiverDeps = {
  readonly pool: Pool
  readonly config: Pick<WebhookConfig, 'secrets' | 'allowed' | 'trustedProxies'>
  readonly metrics: WebhookMetrics
  readonly log: Log
  readonly now: () => number
}

/** The response status of each outcome. */
const statusOf = {
  stored: 200,
  malformed: 400,
  wrong_secret: 401,
  wrong_address: 403,
  unknown_provider: 404,
  wrong_method: 405,
  too_large: 413,
  failed: 503,
} as const

type Outcome = keyof typeof statusOf

const path = '/webhooks/yookassa'
const bodyBytesMax = 64 * 1024

const notificationShape = z.object({
  type: z.literal('notification'),
  event: z.string().min(1).max(128),
  object: z.object({ id: z.string().min(1).max(128) }),
})

/** Stores notifications without interpreting them. */
export function createReceiver(deps: ReceiverDeps): Receiver {
  const { metrics, log, now } = deps
  const allowed = createNetworks(deps.config.allowed)
  const proxies = createNetworks(deps.config.trustedProxies)
  const secrets = deps.config.secrets.map(hashOf)
  // Logs only counts: never the sender or the secret.
  const noteRefusal = createCountedLog<Outcome>((refused) => log.warn({ refused }, 'webhook calls rejected'))
  const noteFailure = createCountedLog((failed) => log.error({ failed }, 'notifications not stored'))

  async function receive(request: IncomingMessage): Promise<Outcome> {
    const url = findUrl(request.url)
    if (url?.pathname !== path) return 'unknown_provider'
    if (request.method !== 'POST') return 'wrong_method'
    const forwardedFor = request.headers['x-forwarded-for']
    const header = Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor
    const address = callerAddress(request.socket.remoteAddress ?? '', header, proxies)
    if (!allowed.has(address)) return 'wrong_address'
    if (!isOpenedBy(url.searchParams.getAll('secret'))) return 'wrong_secret'
    const body = await readBody(request)
    if (body === undefined) return 'too_large'
    const notification = notificationShape.safeParse(findJson(body))
    return notification.success ? store(deps.pool, notification.data, body) : 'malformed'
  }

  /** Compares with every secret, in constant time. */
  function isOpenedBy(given: readonly string[]): boolean {
    const hash = hashOf(given.length === 1 ? (given[0] ?? '') : '')
    return secrets.filter((secret) => timingSafeEqual(secret, hash)).length > 0
  }

  return async (request, response) => {
    const startedAtMs = now()
    const outcome = await receive(request).catch((error: unknown): Outcome => {
      noteFailure(errorName(error))
      return 'failed'
    })
    metrics.notifications.inc({ outcome })
    metrics.seconds.observe((now() - startedAtMs) / 1000)
    if (outcome !== 'stored' && outcome !== 'failed') noteRefusal(outcome)
    // An unread body must not be taken for the next request.
    const ending = outcome === 'stored' || request.complete ? {} : { connection: 'close' }
    response.writeHead(statusOf[outcome], {
      ...securityHeaders,
      'content-length': 0,
      'cache-control': 'no-store',
      ...ending,
      ...(outcome === 'wrong_method' ? { allow: 'POST' } : {}),
    })
    response.end()
  }
}

/** The response to CONNECT, which Node gives to no request handler: without it, the connection closes in silence. */
export function answerTunnel(socket: Duplex): void {
  const headers = { ...securityHeaders, allow: 'POST', 'content-length': 0, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.on('error', () => undefined) // the caller may have left
  socket.end(`HTTP/1.1 405 Method Not Allowed\r\n${lines.join('')}\r\n`, () => socket.destroy())
}

async function store(
  pool: Pool,
  { event, object }: z.infer<typeof notificationShape>,
  body: string,
): Promise<Outcome> {
  const scope = { actor: { kind: 'job', name: 'webhook' }, organizationId: null } as const
  try {
    await inScope(pool, scope, (client: ScopedClient) =>
      client.withoutAudit(
        'the inbox of notifications, which change nothing themselves',
        `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', $1, $2, $3)`,
        [event, object.id, body],
      ),
    )
    return 'stored'
  } catch (error) {
    // Text that Postgres cannot store, or JSON nested too deeply for it. The provider sends neither.
    const isBadText = error instanceof DatabaseError && /^(?:22|54)/.test(error.code ?? '')
    if (isBadText) return 'malformed'
    throw error
  }
}

/** `undefined`: the body is too large, and was not read to its end. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return undefined
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > bodyBytesMax) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function findUrl(text = ''): URL | undefined {
  return URL.parse(text, 'http://receiver') ?? undefined
}
