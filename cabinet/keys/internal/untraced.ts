import { listedMs } from '#core/admission/listed-refusals'
import { clockDifferenceMs, timeOfRequest } from '#core/ledger/request-id'
import type { Problem } from '../../api/problem.ts'

/** A request runs an hour at most, and its charge then waits 10 minutes for Postgres at most. */
const unsettledMs = 70 * 60_000

/**
 * Why an id has neither a receipt nor a rejection. Only its time decides, so that the answer has no hint of requests of other
 * organizations. Pure.
 */
export function whyUntraced(requestId: string, nowMs: number): { readonly problem: Problem } {
  return { problem: { code: codeOf(timeOfRequest(requestId), nowMs) } }
}

/** Whether a gateway can have made this id. Pure. */
export function isRequestId(id: string, nowMs: number): boolean {
  return isPossible(timeOfRequest(id), nowMs)
}

function isPossible(atMs: number | undefined, nowMs: number): atMs is number {
  return atMs !== undefined && atMs <= nowMs + clockDifferenceMs
}

function codeOf(atMs: number | undefined, nowMs: number): Problem['code'] {
  if (!isPossible(atMs, nowMs)) return 'not_found'
  if (nowMs - atMs < unsettledMs) return 'request_not_settled'
  return nowMs - atMs < listedMs ? 'request_untraced' : 'request_too_old'
}
