import type { Admission, Inspection, RateLimits } from '#cabinet/admission'
import { RedisUnavailable } from '#cabinet/redis-connection'
import { keyRefusal, modelNotAllowed, type Refusal } from '../errors.ts'
import type { Caller } from '../exchange/exchange.ts'
import { mayUse } from '../routing/route-table.ts'

/** An error answer, with the key's limits where they are known by then. */
export type Refused = { readonly refusal: Refusal; readonly limits?: RateLimits }

/** A request, as far as its key goes. */
type Asking = {
  readonly caller: Caller | null
  /** Of this request, once it was asked for. */
  inspection: Promise<Inspection> | null
}

/** Looks a caller's key up, once for each request; Redis being away is `unavailable`, an answer like any other. */
export type InspectCaller = (request: Asking) => Promise<Inspection>

/** The inspection of `admission`, which cannot fail for want of Redis. */
export function createInspectCaller(admission: Pick<Admission, 'inspect'>): InspectCaller {
  async function inspect({ shard, credential }: Caller): Promise<Inspection> {
    try {
      return await admission.inspect(shard, credential)
    } catch (error) {
      if (error instanceof RedisUnavailable) return { outcome: 'refused', reason: 'unavailable' }
      throw error
    }
  }
  return (request) => {
    if (request.caller === null) throw new Error('a route was reached without a caller')
    request.inspection ??= inspect(request.caller)
    return request.inspection
  }
}

/**
 * What a client with a faulty request is told: what is wrong with its key, before what is wrong with the request.
 *
 * @param model named by the request and there, so that a key not allowed to use it reads that first.
 */
export function keyFirst(inspection: Inspection, fault: Refusal, model?: string): Refused {
  if (inspection.outcome === 'refused') return { refusal: keyRefusal(inspection) }
  const { allowedModels, limits } = inspection.key
  const isForbidden = model !== undefined && !mayUse(allowedModels, model)
  return { refusal: isForbidden ? modelNotAllowed(model) : fault, limits }
}
