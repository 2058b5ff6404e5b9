import type { ListedRefusal } from '#core/admission/listed-refusals'
import { errorRows } from '#core/errors/refusal'
import { timeOfRequest } from '#core/ledger/request-id'
import type { Piece } from '../../api/csv-rows.ts'
import type { RequestFilter, RequestRow } from './request-rows.ts'

/** A settled or a rejected request. */
export type Activity =
  | { readonly type: 'request'; readonly request: RequestRow }
  | { readonly type: 'rejection'; readonly atMs: number; readonly refused: ListedRefusal }

type Place = { readonly before: string | undefined; readonly limit: number }

/**
 * A page of settled and rejected requests, newest first. The ids of both begin with their time, so they have one order.
 * Of the rejections, those older than the last request that was looked at are left for the next page. Pure.
 */
export function mergeActivity(
  requests: Piece<RequestRow, string>,
  refusals: readonly ListedRefusal[],
  { before, limit }: Place,
): Piece<Activity, string> {
  const { next } = requests
  const rejections = refusals.flatMap((refused): Activity[] => {
    const atMs = timeOfRequest(refused.requestId)
    const isHere = (before === undefined || refused.requestId < before) && (next ?? '') <= refused.requestId
    return isHere && atMs !== undefined ? [{ type: 'rejection', atMs, refused }] : []
  })
  const settled = requests.rows.map((request): Activity => ({ type: 'request', request }))
  const all = [...settled, ...rejections].toSorted((one, other) => (idOf(one) < idOf(other) ? 1 : -1))
  const rows = all.slice(0, limit)
  const last = all.length > limit ? rows.at(-1) : undefined
  return { rows, next: last === undefined ? next : idOf(last) }
}

function idOf(activity: Activity): string {
  return activity.type === 'request' ? activity.request.id : activity.refused.requestId
}

/** Whether a rejection matches a filter of requests. It cost nothing, and no provider got it. Pure. */
export function isWanted(refused: ListedRefusal, filter: RequestFilter): boolean {
  const {
    keyId,
    keyIds,
    model,
    modelContains,
    provider,
    outcome,
    status,
    errorCode,
    costFrom,
    id,
    idContains,
  } = filter
  const atMs = timeOfRequest(refused.requestId)
  const asked = refused.model ?? ''
  return (
    atMs !== undefined &&
    (filter.from === null || filter.from.getTime() <= atMs) &&
    (filter.to === null || atMs < filter.to.getTime()) &&
    (provider === undefined || provider === '-') &&
    outcome === undefined &&
    (costFrom === undefined || costFrom === 0n) &&
    (keyId === undefined || keyId === refused.keyId) &&
    (keyIds === undefined || keyIds.has(refused.keyId)) &&
    (model === undefined || model === asked) &&
    (modelContains === undefined || asked.toLowerCase().includes(modelContains)) &&
    (status === undefined || status === 'error' || isStatus(errorRows[refused.code][0], status)) &&
    (errorCode === undefined || errorCode === refused.code) &&
    (id === undefined || id === refused.requestId) &&
    (idContains === undefined || refused.requestId.includes(idContains))
  )
}

/** Whether a status is this one, or of this class. Pure. */
export function isStatus(status: number, sought: string): boolean {
  const text = String(status)
  return sought.endsWith('xx') ? text[0] === sought[0] : text === sought
}
