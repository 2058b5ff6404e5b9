import type { Pool } from 'pg'
import { orUnavailable } from '#core/db/availability'
import { mirrorKey } from '#core/keys/key-resource'
import { countCabinetKeys, type KeyState, listCabinetKeys } from '#core/keys/key-state'
import { keyProgrammed } from '../../status/key-programmed.ts'
import { no, summaryOf, type Verdict, yes } from '../../status/verdict.ts'
import type { WantedMirror } from './mirror-object.ts'
import { type MirrorState, type Shown, shownOf } from './mirror-state.ts'

/** Mirrors of the oldest keys created in the cabinet, at most `keysMax`. */
export async function readKeyMirrors(pool: Pool, keysMax: number, nowMs: number): Promise<Shown> {
  const keys = await orUnavailable(listCabinetKeys(pool, { limit: keysMax }))
  const cappedCount = keys.length < keysMax ? 0 : (await orUnavailable(countCabinetKeys(pool))) - keys.length
  return keyMirrors(keys, cappedCount, nowMs)
}

/** Mirrors of these keys. Pure. */
export function keyMirrors(keys: readonly KeyState[], cappedCount: number, nowMs: number): Shown {
  const rows = keys.map((key) => {
    const { data: spec, error } = mirrorKey(key)
    return { id: key.keyId, mirror: error ?? { name: key.keyId, spec, ...keySaying(key, nowMs) } }
  })
  return shownOf(rows, cappedCount)
}

function keySaying(key: KeyState, nowMs: number): Omit<MirrorState, keyof WantedMirror> {
  const secret = key.secrets.find(({ state }) => state === 'live')
  const expiresAtMs = key.limits.expiresAt?.getTime()
  const Accepted = yes('Accepted')
  const Programmed = keyProgrammed(key)
  return {
    status: {
      keyID: key.keyId,
      managedBy: 'cabinet',
      ...(secret === undefined ? {} : { keyPrefix: `${secret.prefix}…${secret.suffix}` }),
    },
    verdicts: {
      Accepted,
      Programmed,
      DatabaseReachable: yes('Connected'),
      Ready: summaryOf([Accepted, Programmed], restOf(key, nowMs)),
    },
    ...(expiresAtMs === undefined || expiresAtMs <= nowMs ? {} : { changesAtMs: expiresAtMs }),
  }
}

function restOf({ blockedBy, limits }: KeyState, nowMs: number): Verdict {
  if (blockedBy.length > 0) return no('BlockedByCabinet', 'The key was blocked in the cabinet')
  if (limits.expiresAt !== null && limits.expiresAt.getTime() <= nowMs)
    return no('Expired', `The key expired at ${limits.expiresAt.toISOString()}`)
  return yes('Programmed', 'The key is ready to use')
}
