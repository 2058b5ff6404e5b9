import type { Admission } from '#core/admission/admission'
import {
  type Inspection,
  type KeyOwner,
  type RefusedKey,
  refusedUnseen,
} from '#core/admission/admission-reply'
import { modelNotAllowed } from '#core/errors/limit-refusals'
import type { Refusal } from '#core/errors/refusal'
import { mayUse } from '#core/keys/allowed-models'
import { RedisUnavailable } from '#core/redis/redis-connection'
import { keyRefusal } from '../wire/errors.ts'
import type { AnswerFacts } from './answer.ts'
import type { Caller } from './authenticate.ts'

/** An error answer, with what is known so far about the key and the model asked for. */
export type Refused = {
  readonly refusal: Refusal
  readonly key?: RefusedKey | null
  /** Whose key it is, where its limits are not known. */
  readonly owner?: KeyOwner
  /** Redis has listed the rejection for the key's organization. */
  readonly isListed?: boolean
  readonly modelAsked?: string | undefined
}

/** A request, as far as its key goes. */
type Asking = {
  readonly caller: Caller | null
  /** Of this request, once it was looked up. */
  inspection: Promise<Inspection> | null
}

/** Looks up a caller's key, once per request. If Redis is unavailable the result is `unavailable`, not an error. */
export type InspectCaller = (request: Asking) => Promise<Inspection>

/** The inspection of `admission`, which does not fail if Redis is unavailable. */
export function createInspectCaller(admission: Pick<Admission, 'inspect'>): InspectCaller {
  const inspect = unlessAway(admission.inspect)
  return (request) => {
    if (request.caller === null) throw new Error('a route handler was called without an authenticated caller')
    request.inspection ??= inspect(request.caller)
    return request.inspection
  }
}

/** Looks up a key and counts something for it; Redis being unavailable is an answer like any other. */
export type CountCaller = (caller: Caller) => Promise<Inspection>

/** Counts a request in RPM that was read and is rejected. */
export function createCountCaller(admission: Pick<Admission, 'count'>): CountCaller {
  return unlessAway(admission.count)
}

/** Takes one of the counts of tokens that a key has per minute. */
export function createTakeTokenCount(admission: Pick<Admission, 'takeTokenCount'>): CountCaller {
  return unlessAway(admission.takeTokenCount)
}

function unlessAway(ask: Admission['inspect']): (caller: Caller) => Promise<Inspection> {
  return async ({ shard, secretHash, address }) => {
    try {
      return await ask(shard, secretHash, address)
    } catch (error) {
      if (error instanceof RedisUnavailable) return refusedUnseen
      throw error
    }
  }
}

/**
 * The error of an invalid request: problems with its key come before problems with the request.
 *
 * @param model the model named by the request, existing or not: a key that may not use it gets that error
 * first.
 */
export function keyFirst(inspection: Inspection, fault: Refusal, model?: string): Refused {
  const { key } = inspection
  if (inspection.outcome === 'refused') return { refusal: keyRefusal(inspection), key, modelAsked: model }
  const isForbidden = model !== undefined && !mayUse(inspection.key.allowedModels, model)
  return { refusal: isForbidden ? modelNotAllowed(model) : fault, key, modelAsked: model }
}

/** The key's limits in an error response; nothing if the secret is no longer valid or its client may be a stranger. */
export function limitsShown({ refusal, key }: Refused): Pick<AnswerFacts, 'limits'> {
  return key == null || refusal.status === 401 || refusal.code === 'ip_not_allowed'
    ? {}
    : { limits: key.limits }
}
