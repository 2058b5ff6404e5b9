import type { Blocker } from '../keys/key.ts'
import { type Refusal, refusal } from './refusal.ts'

/** No `Authorization: Bearer` header. */
export const missingApiKey = unauthenticated(
  'missing_api_key',
  'No API key: send it in the header "Authorization: Bearer sk-gateway-…". The word Bearer is required.',
)

/** A key that cannot exist, or does not. */
export const invalidApiKey = unauthenticated(
  'invalid_api_key',
  'This API key is not known here. Check that it was copied whole; keys start with sk-gateway-.',
)

/** Revoked, or rotated out. */
export const revokedApiKey = unauthenticated(
  'invalid_api_key',
  'This API key was revoked or replaced. Use the current one.',
)

/** Past its end. */
export const expiredApiKey = unauthenticated(
  'expired_api_key',
  'This API key has expired. Make a new one in the cabinet.',
)

const blockers = {
  owner: 'its owner, who can unblock it in the cabinet',
  admin: 'an administrator of this service; ask support',
  kubernetes: 'its ApiKey resource in Kubernetes',
} as const satisfies Record<Blocker, string>

/** Blocked, by whom. */
export function blockedApiKey(by: Blocker): Refusal {
  return refusal('api_key_blocked', `This API key is blocked by ${blockers[by]}.`)
}

function unauthenticated(code: 'missing_api_key' | 'invalid_api_key' | 'expired_api_key', message: string) {
  return refusal(code, message, { headers: { 'www-authenticate': 'Bearer' } })
}
