import { isDeepStrictEqual } from 'node:util'
import type { KeyState } from '#core/keys/key-state'
import type { ClusterClient } from '../../runtime/cluster-client.ts'
import { type ClusterObject, keyOf } from '../../runtime/cluster-object.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import { apiKeys } from '../../runtime/resources.ts'
import type { Verdict } from '../../status/verdict.ts'
import { withFinalizer } from '../finalizer.ts'
import { type ApplyDeps, applyKeyStep } from './apply-key.ts'
import { endBlindly } from './end-blindly.ts'
import { gatherKey, type KeyLook } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'
import { delayEvent, eventOf, transitionEvent, waitEvent } from './key-events.ts'
import { latestStatus, memoryForLook, noteRepair, noteTold, type Remembered } from './key-memory.ts'
import { planInput, readKeyObject } from './key-object.ts'
import { keyStatus, statusOfRefused, statusWithoutDatabase } from './key-status.ts'
import { verdictsOf } from './key-verdicts.ts'
import { planKey } from './plan-key.ts'

export type LookDeps = ApplyDeps & {
  readonly client: Pick<ClusterClient, 'find' | 'findSecret' | 'create' | 'patch' | 'applyStatus'>
  readonly recorder: Pick<EventRecorder, 'record'>
  /** Called with the key each time it was read or written. */
  readonly onKey: (key: KeyState) => void
  /** Called with the version of the Secret each time it was read or written; `''`: there is none. */
  readonly onSecret: (name: string, version: string) => void
  /** Called with what the log should have of a deletion: an ApiKey that goes may take its events with it. */
  readonly onDeletionNews: (error: unknown) => void
}

/** Reasons of events after which a key may be used without its ApiKey. */
const outlives = new Set(['KeyOrphaned', 'RevocationUnconfirmed'])
/** A reconciliation takes about 5 steps; more is a bug that must not run forever. */
const stepsMax = 12

/**
 * Reconciles an ApiKey: takes the steps that are due and writes its status. Returns the final state.
 *
 * `left`: it was deleted, or is not managed by this operator.
 *
 * @throws PostgresUnavailable, Superseded, ClusterUnavailable, ClusterRefused, ChangedMeanwhile: the next
 * check continues.
 */
export async function lookAtKey(
  deps: LookDeps,
  object: ClusterObject,
  namespace: ClusterObject,
  remembered: Remembered,
): Promise<GatheredKey | 'left'> {
  remembered.input = planInput(object)
  const first = await gatherKey(deps, object, namespace, memoryForLook(remembered, object))
  if (first === 'mirror') return 'left'
  let look: KeyLook = first
  for (let count = 0; ; count++) {
    const { key } = look.gathered
    if (key !== undefined) deps.onKey(key)
    deps.onSecret(look.read.secret.name, look.secret?.metadata.resourceVersion ?? '')
    const step = planKey(look.gathered)
    if (step === undefined) break
    if (count === stepsMax)
      throw new Error(
        `the plan for ApiKey ${object.metadata.name} did not end after ${stepsMax} steps: ${step.do}`,
      )
    // Before it is written: its event may arrive before the response.
    if (step.do === 'addFinalizer') remembered.input = planInput(held(look.object))
    if (step.do === 'awaitProjection' && look.gathered.object.isTerminating)
      await tell(deps, look, remembered)
    if (step.do === 'mint' && step.isRepair) {
      await tell(deps, look, remembered) // until it is done, which may take long
      noteRepair(remembered, look.gathered.nowMs)
    }
    const next = await applyKeyStep(deps, look, step)
    const event = eventOf(step, look.gathered)
    if (event !== undefined) deps.recorder.record(look.object, event)
    if (key !== undefined && event !== undefined && outlives.has(event.reason))
      deps.onDeletionNews(new Error(`ApiKey ${keyOf(object.metadata)}, key ${key.keyId}: ${event.note}`))
    if (next === 'gone') return 'left'
    look = next
  }
  await tell(deps, look, remembered)
  return look.gathered
}

/** The object with our finalizer. */
function held(object: ClusterObject): ClusterObject {
  return { ...object, metadata: { ...object.metadata, finalizers: withFinalizer(object) } }
}

/** Writes the status and the event of a transition. */
async function tell(deps: LookDeps, look: KeyLook, remembered: Remembered): Promise<void> {
  const { object, read, gathered } = look
  // Keeps the transition times of the last status.
  const before = { ...object, status: latestStatus(remembered, object) }
  const status = keyStatus(gathered, read.secret, before)
  await putStatus(deps, object, status, remembered)
  for (const event of [
    transitionEvent(before, verdictsOf(gathered).Ready),
    waitEvent(gathered),
    delayEvent(gathered),
  ])
    if (event !== undefined) deps.recorder.record(object, event)
}

/**
 * Handles an ApiKey while the database is unavailable. Nothing can be done, unless it is being deleted and
 * has the override annotation. Its status reports a long outage, and any outage if it has no status yet.
 */
export async function liveWithoutDatabase(
  deps: Pick<LookDeps, 'client'>,
  object: ClusterObject,
  itsNamespace: ClusterObject,
  outage: 'short' | 'long',
  remembered: Remembered,
): Promise<'ended' | 'blocked' | 'waits'> {
  const read = readKeyObject(object)
  const isEnding = read.object.isTerminating && read.object.hasFinalizer
  if (isEnding && (await endBlindly(deps, object, itsNamespace)) === 'ended') return 'ended'
  const { namespace = '' } = object.metadata
  const secret = await deps.client.findSecret({ namespace, name: read.secret.name })
  const before = { ...object, status: latestStatus(remembered, object) }
  const status = statusWithoutDatabase(before, read.object, { outage, secret, nowMs: Date.now() })
  await putStatus(deps, object, status, remembered)
  return isEnding ? 'blocked' : 'waits'
}

/** Writes the status of an ApiKey that the database rejects. */
export async function tellRefusal(
  deps: Pick<LookDeps, 'client'>,
  object: ClusterObject,
  refusal: Verdict,
  remembered: Remembered,
): Promise<void> {
  const before = { ...object, status: latestStatus(remembered, object) }
  await putStatus(deps, object, statusOfRefused(before, refusal, Date.now()), remembered)
}

async function putStatus(
  { client }: Pick<LookDeps, 'client'>,
  object: ClusterObject,
  status: object,
  remembered: Remembered,
): Promise<void> {
  const before = latestStatus(remembered, object)
  noteTold(remembered, object, status)
  if (isDeepStrictEqual(object.status, status) && isDeepStrictEqual(before, status)) return
  try {
    await client.applyStatus(apiKeys, { ...object, status })
  } catch (error) {
    noteTold(remembered, object, Object(before)) // as far as this process knows
    throw error
  }
}
