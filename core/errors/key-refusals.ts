import type { Blocker } from '../keys/key.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Neither an `Authorization: Bearer` header nor `x-api-key`. */
export const missingApiKey = unauthenticated(
  'missing_api_key',
  'No API key provided. Send it in the header "Authorization: Bearer sk-gateway-…", including the word Bearer, or in x-api-key.',
)

/** A key that cannot exist, or does not. */
export const invalidApiKey = unauthenticated(
  'invalid_api_key',
  'Invalid API key. Check that it was copied in full; keys start with sk-gateway-.',
)

/** Revoked, or rotated out. */
export const revokedApiKey = unauthenticated(
  'invalid_api_key',
  'This API key has been revoked or replaced. Use the current one.',
)

/** Past its end. */
export const expiredApiKey = unauthenticated(
  'expired_api_key',
  'This API key has expired. Create a new one in the cabinet.',
)

const blockers = {
  owner: 'its owner, who can unblock it in the cabinet',
  admin: 'an administrator of this service. Contact support',
  kubernetes: 'its ApiKey resource in Kubernetes',
} as const satisfies Record<Blocker, string>

/** Blocked, by whom. */
export function blockedApiKey(by: Blocker): Refusal {
  return refusal('api_key_blocked', `This API key has been blocked by ${blockers[by]}.`)
}

function unauthenticated(code: 'missing_api_key' | 'invalid_api_key' | 'expired_api_key', message: string) {
  return refusal(code, message, { headers: { 'www-authenticate': 'Bearer' } })
}
