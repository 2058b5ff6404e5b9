/** In which payments are booked: nobody asks for what the provider tells, and whose a payment is, its row says. */
export const paymentsScope = { actor: { kind: 'job', name: 'payments' }, organizationId: null } as const

/** Clocks of ours and of the provider differ by less. */
export const clockSkewMs = 10 * 60_000
