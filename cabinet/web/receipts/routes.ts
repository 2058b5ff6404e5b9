import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PostgresUnavailable } from '../../db/availability.ts'
import type { Queryable } from '../../db/pool.ts'
import { type FoundCaller, findCallerByHash } from '../../keys/find-caller.ts'
import { findBearer, findKey, hashKey } from '../../keys/key.ts'
import { findSettledRequest } from '../../ledger/receipt-store.ts'
import {
  blockedApiKey,
  expiredApiKey,
  type GatewayError,
  internalError,
  invalidApiKey,
  missingApiKey,
  receiptsUnavailable,
  requestNotFound,
  revokedApiKey,
  sendGatewayError,
  tooManyReceipts,
} from '../gateway-error.ts'
import type { Log } from '../log.ts'
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
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** `GET /v1/requests/{id}`: the receipt of one of the calling organization's requests. The gateway forwards it. */
export function receiptRoutes(app: FastifyInstance, deps: ReceiptDeps): void {
  const rate = createRateWindow(deps.perMinute, minuteMs, deps.now)

  // Not `:id`: Fastify would answer 404 by itself, without asking who calls, where an id is long.
  app.get<{ Params: { '*': string } }>('/v1/requests/*', { errorHandler }, async (request, reply) => {
    reply.header('cache-control', 'no-store') // a correction may still change it
    const found = await findCaller(request.headers.authorization)
    if ('error' in found) return sendGatewayError(reply, found.error)
    const waitMs = rate.count(found.keyId)
    if (waitMs > 0) return sendGatewayError(reply, tooManyReceipts(deps.perMinute, waitMs))
    const { '*': id } = request.params
    const settled = uuid.test(id)
      ? await findSettledRequest(deps.postgres, found.organizationId, id)
      : undefined
    if (settled === undefined) return sendGatewayError(reply, requestNotFound)
    reply.send(receiptOf(settled))
  })

  async function findCaller(
    authorization: string | undefined,
  ): Promise<Extract<FoundCaller, { state: 'active' }> | { readonly error: GatewayError }> {
    const text = findBearer(authorization)
    if (text === undefined) return { error: missingApiKey }
    const key = findKey(text)?.key
    if (key === undefined) return { error: invalidApiKey }
    const caller = await findCallerByHash(deps.postgres, hashKey(key, deps.keyPepper))
    return caller.state === 'active' ? caller : { error: errorOf(caller) }
  }

  function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    deps.log.error({ requestId: request.id, err: error }, 'a receipt could not be read')
    sendGatewayError(reply, error instanceof PostgresUnavailable ? receiptsUnavailable : internalError)
  }
}

function errorOf(caller: Exclude<FoundCaller, { state: 'active' }>): GatewayError {
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
