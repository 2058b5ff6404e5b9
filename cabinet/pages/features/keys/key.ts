import type { Answer } from '../../api/calls.ts'

export type Key = Answer<'GET /keys/:key_id'>

/** What stands in the way of a key's requests, the last word first. */
export type KeyStanding = 'active' | 'expired' | Key['blocked_by'][number]

const blockerOrder = ['admin', 'owner', 'kubernetes', 'balance'] as const

/** Pure. @param nowMs by the server's clock. */
export function standingOf(
  { blocked_by, expires_at }: Pick<Key, 'blocked_by' | 'expires_at'>,
  nowMs: number,
): KeyStanding {
  if (expires_at !== null && Date.parse(expires_at) <= nowMs) return 'expired'
  return blockerOrder.find((blocker) => blocked_by.includes(blocker)) ?? 'active'
}
