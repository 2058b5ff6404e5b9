import type { FastifyRequest } from 'fastify'
import type { Queryable } from '../../db/pool.ts'
import { type FoundCaller, findCallerByHash } from '../../keys/find-caller.ts'
import { findBearer, findKey, hashKey, type KeyHash } from '../../keys/key.ts'
import {
  blockedApiKey,
  expiredApiKey,
  invalidApiKey,
  missingApiKey,
  revokedApiKey,
} from '../../refusals/key-refusals.ts'
import { tooManyReceipts, tooManyUnknownKeys } from '../../refusals/receipt-refusals.ts'
import type { Refusal } from '../../refusals/refusal.ts'
import { createRateWindow } from './rate-window.ts'

export type KeyAccessDeps = {
  readonly postgres: Queryable
  readonly keyPepper: string
  /** `performance.now`. */
  readonly now: () => number
}

type ActiveCaller = Extract<FoundCaller, { state: 'active' }>

const minuteMs = 60_000
/** Look-ups per minute of all keys not seen yet: made-up keys must not wear out Postgres. */
const newKeysPerMinute = 600
/** Keys remembered: those of a busy day. The oldest one is dropped first. */
const seenKeysMax = 10_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Postgres knows the key. Requests that anybody can send are logged at `debug` only. */
    hasKnownKey: boolean
  }
}

/** The access rule `api_key`: finds who calls with a key, each key at most so many times a minute on a route. */
export function createKeyAccess({ postgres, keyPepper, now }: KeyAccessDeps) {
  const ofNewKeys = createRateWindow(newKeysPerMinute, minuteMs, now)
  const seen = createSeenKeys()

  return function limitedTo(perMinute: number) {
    const ofKey = createRateWindow(perMinute, minuteMs, now)

    /** What a caller is told who is one too many. Counted before Postgres is asked: seen keys each, all others together. */
    function countCall(hash: KeyHash): Refusal | undefined {
      const isSeen = seen.has(hash)
      const waitMs = isSeen ? ofKey.count(hash) : ofNewKeys.count('')
      if (waitMs === 0) return undefined
      return isSeen ? tooManyReceipts(perMinute, waitMs) : tooManyUnknownKeys(waitMs)
    }

    /** @throws PostgresUnavailable */
    return async function findCaller(
      request: FastifyRequest,
    ): Promise<ActiveCaller | { readonly refusal: Refusal }> {
      const secret = findBearer(request.headers.authorization)
      if (secret === undefined) return { refusal: missingApiKey }
      const key = findKey(secret)?.key
      if (key === undefined) return { refusal: invalidApiKey }
      const hash = hashKey(key, keyPepper)
      request.hasKnownKey = seen.has(hash)
      const tooMany = countCall(hash)
      if (tooMany !== undefined) return { refusal: tooMany }
      const caller = await findCallerByHash(postgres, hash)
      if (caller.state !== 'unknown') {
        request.hasKnownKey = true
        if (seen.add(hash)) ofKey.count(hash)
      }
      return caller.state === 'active' ? caller : { refusal: refusalOf(caller) }
    }
  }
}

/** Keys that Postgres knew. */
function createSeenKeys() {
  const seen = new Set<KeyHash>()
  return {
    has: (hash: KeyHash) => seen.has(hash),
    /** Answers whether it is new here. */
    add(hash: KeyHash): boolean {
      if (seen.has(hash)) return false
      const [oldest] = seen.size < seenKeysMax ? [] : seen
      if (oldest !== undefined) seen.delete(oldest)
      seen.add(hash)
      return true
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
