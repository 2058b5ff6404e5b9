/**
 * The scope for posting payments. The provider's data has no requester, and the payment's row names the organization.
 */
export const paymentsScope = { actor: { kind: 'job', name: 'payments' }, organizationId: null } as const

/** Our clocks and the provider's clocks differ by less. */
export const clockSkewMs = 10 * 60_000
