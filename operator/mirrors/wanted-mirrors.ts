import type { Pool } from 'pg'
import { orUnavailable } from '#cabinet/availability'
import { listCabinetRoutes } from '#cabinet/cabinet-routes'
import { readCatalogueRevision } from '#cabinet/catalogue-store'
import { type Replica, readReplicas } from '#cabinet/data-plane'
import { mirrorKey } from '#cabinet/key-resource'
import { countCabinetKeys, type KeyState, listCabinetKeys } from '#cabinet/key-state'
import { mirrorRoute } from '#cabinet/route-resource'
import { programmedBy } from '../catalogue/gateway-verdicts.ts'
import { isSameJson } from '../catalogue/same-json.ts'
import { no, summaryOf, type Verdict, yes } from '../catalogue/verdict.ts'
import { mirrorNameOf, type WantedMirror } from './mirror-object.ts'

/** A mirror and what it shall say of itself. */
export type MirrorState = WantedMirror & {
  /** Beside the conditions. */
  readonly status: object
  readonly verdicts: Readonly<Record<string, Verdict>>
  /** When it will say something else by itself, in ms since 1970. */
  readonly changesAtMs?: number
}

/** Mirrors by name. */
export type MirrorStates = ReadonlyMap<string, MirrorState>

/** Routes are few, and their cap is that of a table nobody would read. */
const routesMax = 10_000

/**
 * The mirrors of the oldest keys made in the cabinet, at most `keysMax`, and how many keys stay without one. A key
 * that an ApiKey cannot say has none.
 */
export async function readKeyMirrors(
  pool: Pool,
  keysMax: number,
  nowMs: number,
): Promise<{ readonly mirrors: MirrorStates; readonly unmirroredCount: number }> {
  const keys = await orUnavailable(listCabinetKeys(pool, { limit: keysMax }))
  const unmirroredCount =
    keys.length < keysMax ? 0 : (await orUnavailable(countCabinetKeys(pool))) - keys.length
  const mirrors = keys.flatMap((key) => {
    const spec = mirrorKey(key)
    return spec === undefined ? [] : [{ name: key.keyId, spec, ...keySaying(key, nowMs) }]
  })
  return { mirrors: byName(mirrors), unmirroredCount }
}

function keySaying(key: KeyState, nowMs: number): Omit<MirrorState, keyof WantedMirror> {
  const text = key.credentials.find(({ state }) => state === 'live')
  const expiresAtMs = key.limits.expiresAt?.getTime()
  const Accepted = yes('Accepted')
  const Programmed = key.isProjected
    ? yes('Programmed', 'the gateways know this key')
    : no('GatewaysPending', 'the gateways have not heard of its last change yet')
  return {
    status: {
      keyID: key.keyId,
      managedBy: 'cabinet',
      ...(text === undefined ? {} : { keyPrefix: `${text.prefix}…${text.suffix}` }),
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
  if (blockedBy.length > 0) return no('BlockedByCabinet', 'it is blocked in the cabinet')
  if (limits.expiresAt !== null && limits.expiresAt.getTime() <= nowMs)
    return no('Expired', `it ended at ${limits.expiresAt.toISOString()}`)
  return yes('Programmed', 'the gateways know this key')
}

/**
 * The mirrors of the routes made in the cabinet. What is programmed is judged by the revision at which a route was
 * first seen as it is: `before` is what the last call has answered.
 */
export async function readRouteMirrors(pool: Pool, before: MirrorStates): Promise<MirrorStates> {
  const revision = await orUnavailable(readCatalogueRevision(pool))
  const routes = await orUnavailable(listCabinetRoutes(pool, { limit: routesMax }))
  const replicas = await orUnavailable(readReplicas(pool))
  return byName(
    routes.flatMap((made) => {
      const spec = mirrorRoute(made)
      if (spec === undefined) return []
      const name = mirrorNameOf(made.route.model)
      const known = before.get(name)
      const since = known !== undefined && isSameJson(known.spec, spec) ? findRevision(known) : undefined
      return [{ name, spec, ...routeSaying(since ?? Number(revision), replicas) }]
    }),
  )
}

function routeSaying(revision: number, replicas: readonly Replica[]): Omit<MirrorState, keyof WantedMirror> {
  const Accepted = yes('Accepted')
  const Programmed = programmedBy(BigInt(revision), replicas)
  const Ready = summaryOf([Accepted, Programmed], yes('Programmed', 'every gateway serves it'))
  return { status: { revision }, verdicts: { Accepted, Programmed, Ready } }
}

function findRevision({ status }: MirrorState): number | undefined {
  return 'revision' in status && typeof status.revision === 'number' ? status.revision : undefined
}

function byName(states: readonly MirrorState[]): MirrorStates {
  return new Map(states.map((state) => [state.name, state]))
}
