/** What people's endpoints refuse, each in one way. */
export const refused = {
  busy: { problem: { code: 'service_unavailable', retryAfterS: 2 } },
  credentials: { problem: { code: 'invalid_credentials' } },
  code: { problem: { code: 'invalid_code' } },
  token: { problem: { code: 'invalid_token' } },
} as const

/** Too many tries; so many seconds until the next one. */
export function tooMany(waitS: number) {
  return { problem: { code: 'rate_limited', retryAfterS: waitS } } as const
}
