import type { FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import {
  blockedApiKey,
  expiredApiKey,
  invalidApiKey,
  missingApiKey,
  revokedApiKey,
} from '#core/errors/key-refusals'
import { ipNotAllowed } from '#core/errors/limit-refusals'
import { type Refusal, refusal, retrySecondsOf } from '#core/errors/refusal'
import { createAllowedNetworks } from '#core/keys/allowed-networks'
import { createCallerPlace } from '#core/keys/caller-place'
import { type FoundCaller, findCallerByHash } from '#core/keys/find-caller'
import { findBearer, findKey, hashKey } from '#core/keys/key'
import type { RouteLimit } from '#core/process/http-route'
import { plainAddress } from '#core/process/plain-address'
import { createRateWindow } from './rate-window.ts'

export type KeyAccessDeps = {
  readonly pool: Pool
  readonly keyPepper: string
  /** `performance.now`. */
  readonly now: () => number
}

type ActiveCaller = Extract<FoundCaller, { state: 'active' }>

const minuteMs = 60_000

declare module 'fastify' {
  interface FastifyRequest {
    /** The key is genuine. Requests that any client can send are logged only at `debug`. */
    hasGenuineKey: boolean
  }
}

/** The access rule `api_key`: finds the caller of a key, and limits each key's calls per minute on a route. */
export function createKeyAccess({ pool, keyPepper, now }: KeyAccessDeps) {
  const place = createCallerPlace(keyPepper)
  return function limitedTo(limit: RouteLimit) {
    const ofKey = createRateWindow(limit.perMinute, minuteMs, now)

    /** @throws Postgres errors, or that Postgres is unavailable. */
    return async function findCaller(
      request: FastifyRequest,
    ): Promise<ActiveCaller | { readonly refusal: Refusal }> {
      const secret = findBearer(request.headers.authorization)
      if (secret === undefined) return { refusal: missingApiKey }
      const found = findKey(secret, keyPepper)
      if (found === undefined) return { refusal: invalidApiKey }
      request.hasGenuineKey = true
      const hash = hashKey(found.key, keyPepper)
      const waitMs = ofKey.count(hash) // before querying Postgres
      if (waitMs > 0) return { refusal: tooManyCalls(limit, waitMs) }
      const caller = await inReadScope(pool, null, (client) => findCallerByHash(client, hash))
      const ip = place.read(request.headers) ?? plainAddress(request.ip)
      if (!mayCallFrom(ip, caller)) return { refusal: ipNotAllowed(ip) }
      return caller.state === 'active' ? caller : { refusal: refusalOf(caller) }
    }
  }
}

/** Decided before anything that a stranger with the key could learn, other than that it was revoked. */
function mayCallFrom(ip: string, caller: FoundCaller): boolean {
  if (!('allowedIps' in caller) || caller.allowedIps === null) return true
  return createAllowedNetworks(caller.allowedIps).has(ip)
}

function tooManyCalls({ perMinute, of }: RouteLimit, waitMs: number): Refusal {
  return refusal(
    'rate_limit_exceeded',
    `This API key is limited to ${perMinute} ${of} per minute. Retry in ${retrySecondsOf(waitMs)} s.`,
    { limit: perMinute, retryAfterMs: waitMs },
  )
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
