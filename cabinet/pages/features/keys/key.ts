import type { Answer } from '../../api/calls.ts'

export type Key = Answer<'GET /keys/:key_id'>

export type RevokedKey = Answer<'GET /revoked-keys/:key_id'>

/** Whether a key works, or why not; of several reasons, the one that its owner can influence least. */
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
