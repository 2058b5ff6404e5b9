export type Because = 'amount' | 'own_organization'

/** What the two-person rule looks at. Amounts in nano-rubles. */
type Facts = {
  readonly isRuleOn: boolean
  /** Whether the administrator belongs to the organization. */
  readonly isOwn: boolean
  readonly amount: bigint
  /** What the administrator did for the organization in 24 hours without approval, in either direction. */
  readonly doneAlone: bigint
  readonly aloneMax: bigint
}

/** Why another administrator must approve; `undefined`: none has to. Debits count like credits. Pure. */
export function needsApproval({ isRuleOn, isOwn, amount, doneAlone, aloneMax }: Facts): Because | undefined {
  if (!isRuleOn) return undefined
  if (isOwn) return 'own_organization'
  const size = amount < 0n ? -amount : amount
  return doneAlone + size > aloneMax ? 'amount' : undefined
}
