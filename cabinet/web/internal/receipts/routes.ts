import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PostgresUnavailable } from '../../../db/availability.ts'
import type { Queryable } from '../../../db/pool.ts'
import { type FoundCaller, findCallerByHash } from '../../../keys/find-caller.ts'
import { findBearer, findKey, hashKey, type KeyHash } from '../../../keys/key.ts'
import { findSettledRequest } from '../../../ledger/receipt-store.ts'
import type { Log } from '../../../process/log.ts'
import {
  blockedApiKey,
  expiredApiKey,
  invalidApiKey,
  missingApiKey,
  revokedApiKey,
} from '../../../refusals/key-refusals.ts'
import {
  receiptNotRead,
  receiptsUnavailable,
  requestNotFound,
  tooManyReceipts,
  tooManyUnknownKeys,
} from '../../../refusals/receipt-refusals.ts'
import { errorBody, type Refusal } from '../../../refusals/refusal.ts'
import { createRateWindow } from '../rate-window.ts'
import { receiptOf } from './receipt.ts'

export type ReceiptDeps = {
  readonly postgres: Queryable
  readonly keyPepper: string
  /** Receipts that a key may read in a minute, from this process. */
  readonly perMinute: number
  readonly log: Log
  /** `performance.now`. */
  readonly now: () => number
}

const minuteMs = 60_000
/** Look-ups per minute of all keys not seen yet: made-up keys must not wear out Postgres. */
const newKeysPerMinute = 600
/** Keys remembered: those of a busy day. The oldest one is dropped first. */
const seenKeysMax = 10_000
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

declare module 'fastify' {
  interface FastifyRequest {
    /** Postgres knows the key. Requests that anybody can send are logged at `debug` only. */
    hasKnownKey: boolean
  }
}

/** `GET /v1/requests/{id}`: the receipt of one of the calling organization's requests. The gateway forwards it. */
export function receiptRoutes(app: FastifyInstance, deps: ReceiptDeps): void {
  const countCaller = createCallerCount(deps)
  app.decorateRequest('hasKnownKey', false)

  // Not `:id`: Fastify would answer 404 by itself, without asking who calls, where an id is long.
  app.get<{ Params: { '*': string } }>('/v1/requests/*', { errorHandler }, async (request, reply) => {
    reply.header('cache-control', 'no-store') // a correction may still change it
    const found = await findCaller(request)
    if ('refusal' in found) return sendRefusal(reply, found.refusal)
    const { '*': id } = request.params
    const settled = uuid.test(id)
      ? await findSettledRequest(deps.postgres, found.organizationId, id)
      : undefined
    if (settled === undefined) return sendRefusal(reply, requestNotFound)
    reply.send(receiptOf(settled))
  })

  async function findCaller(
    request: FastifyRequest,
  ): Promise<Extract<FoundCaller, { state: 'active' }> | { readonly refusal: Refusal }> {
    const text = findBearer(request.headers.authorization)
    if (text === undefined) return { refusal: missingApiKey }
    const key = findKey(text)?.key
    if (key === undefined) return { refusal: invalidApiKey }
    const hash = hashKey(key, deps.keyPepper)
    request.hasKnownKey = countCaller.hasSeen(hash)
    const tooMany = countCaller.count(hash)
    if (tooMany !== undefined) return { refusal: tooMany }
    const caller = await findCallerByHash(deps.postgres, hash)
    if (caller.state !== 'unknown') {
      request.hasKnownKey = true
      countCaller.remember(hash)
    }
    return caller.state === 'active' ? caller : { refusal: refusalOf(caller) }
  }

  function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    deps.log.error({ requestId: request.id, err: error }, 'a receipt could not be read')
    sendRefusal(reply, error instanceof PostgresUnavailable ? receiptsUnavailable : receiptNotRead)
  }
}

/** Answers as the gateway does, which passes it on as it is. */
function sendRefusal(reply: FastifyReply, refusal: Refusal): void {
  reply
    .code(refusal.status)
    .headers(refusal.headers)
    .type('application/json')
    .send(errorBody(refusal, reply.request.id))
}

/** Counts requests before Postgres is queried: known keys one by one, all others together. */
function createCallerCount({ perMinute, now }: ReceiptDeps) {
  const ofKey = createRateWindow(perMinute, minuteMs, now)
  const ofNewKeys = createRateWindow(newKeysPerMinute, minuteMs, now)
  const seen = new Set<KeyHash>()
  return {
    hasSeen: (hash: KeyHash) => seen.has(hash),
    /** The error for a request above the limit, if it is. */
    count(hash: KeyHash): Refusal | undefined {
      const isSeen = seen.has(hash)
      const waitMs = isSeen ? ofKey.count(hash) : ofNewKeys.count('')
      if (waitMs === 0) return undefined
      return isSeen ? tooManyReceipts(perMinute, waitMs) : tooManyUnknownKeys(waitMs)
    },
    /** Postgres knows this key. */
    remember(hash: KeyHash): void {
      if (seen.has(hash)) return
      const [oldest] = seen.size < seenKeysMax ? [] : seen
      if (oldest !== undefined) seen.delete(oldest)
      seen.add(hash)
      ofKey.count(hash)
    },
  }
}

function refusalOf(caller: Exclude<FoundCaller, { state: 'active' }>): Refusal {
  switch (caller.state) {
    case 'unknown':
      return invalidApiKey
    case 'revoked':
      return revokedApiKey
    case 'expired':
      return expiredApiKey
    case 'blocked':
      return blockedApiKey(caller.blockedBy)
  }
}
