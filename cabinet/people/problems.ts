import type { Lane } from './password.ts'

/** Rejections of the endpoints of accounts. */
export const refused = {
  credentials: { problem: { code: 'invalid_credentials' } },
  code: { problem: { code: 'invalid_code' } },
  token: { problem: { code: 'invalid_token' } },
  passkey: { problem: { code: 'invalid_passkey' } },
} as const

/** Too many passwords are being hashed. Callers without any proof can skip the queue by proving work. */
export function busy(lane: Lane) {
  return lane === 'open'
    ? ({ problem: { code: 'proof_of_work_required', work: 1 } } as const)
    : ({ problem: { code: 'service_unavailable', retryAfterS: 2 } } as const)
}
