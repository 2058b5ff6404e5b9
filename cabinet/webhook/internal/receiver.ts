import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DatabaseError, type Pool } from 'pg'
import { z } from 'zod'
import { inScope, type ScopedClient } from '../../audit/scope.ts'
import { errorName } from '../../process/error-name.ts'
import { findJson } from '../../process/json.ts'
import type { Log } from '../../process/log.ts'
import { createNetworks } from '../../process/networks.ts'
import { securityHeaders } from '../../process/security-headers.ts'
import type { WebhookConfig } from '../config.ts'
import { callerAddress } from './caller-address.ts'
import { createCountedLog } from './counted-log.ts'
import type { WebhookMetrics } from './metrics.ts'

/** Answers a request that may be a notification; never throws. */
export type Receiver = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export type ReceiverDeps = {
  readonly pool: Pool
  readonly config: Pick<WebhookConfig, 'secrets' | 'allowed' | 'trustedProxies'>
  readonly metrics: WebhookMetrics
  readonly log: Log
  readonly now: () => number
}

/** What became of a request, and what it is answered. */
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

/** Writes notifications down, and knows nothing of what they mean. */
export function createReceiver(deps: ReceiverDeps): Receiver {
  const { metrics, log, now } = deps
  const allowed = createNetworks(deps.config.allowed)
  const proxies = createNetworks(deps.config.trustedProxies)
  const secrets = deps.config.secrets.map(hashOf)
  // By their number alone: never from whom, nor with which secret.
  const noteRefusal = createCountedLog<Outcome>((refused) =>
    log.warn({ refused }, 'webhook calls were refused'),
  )
  const noteFailure = createCountedLog((failed) => log.error({ failed }, 'notifications could not be stored'))

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

  /** Compares with every secret, whichever it is, in constant time. */
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
    // What was not read must not be taken for the next request.
    const ending = outcome === 'stored' || request.complete ? {} : { connection: 'close' }
    response.writeHead(statusOf[outcome], {
      ...{ ...securityHeaders, 'content-length': 0, 'cache-control': 'no-store', ...ending },
      ...(outcome === 'wrong_method' ? { allow: 'POST' } : {}),
    })
    response.end()
  }
}

async function store(
  pool: Pool,
  { event, object }: z.infer<typeof notificationShape>,
  body: string,
): Promise<Outcome> {
  const scope = { actor: { kind: 'job', name: 'webhook' }, organizationId: null } as const
  try {
    await inScope(pool, scope, (client: ScopedClient) =>
      client.unaudited(
        `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', $1, $2, $3)`,
        [event, object.id, body],
      ),
    )
    return 'stored'
  } catch (error) {
    // Text that Postgres cannot hold, or JSON that is too deep for it: nothing that the provider sends.
    const isBadText = error instanceof DatabaseError && /^(?:22|54)/.test(error.code ?? '')
    if (isBadText) return 'malformed'
    throw error
  }
}

/** `undefined`: it is too large, and was not read to its end. */
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
