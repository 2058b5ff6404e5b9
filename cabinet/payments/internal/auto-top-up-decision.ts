/** Between two automatic payments of an organization. `order_automatic_payment` checks it again. */
const intervalMinutesMin = 10
/** A payment without an outcome for so long is a matter for people. The provider forgets its call after 24 hours. */
const outcomeHoursMax = 25

export type AutoTopUpFacts = {
  /** Posted, in nano-rubles, as all amounts here. */
  readonly balance: bigint
  readonly threshold: bigint
  readonly amount: bigint
  readonly dailyMax: bigint
  /** Automatic payments of today that have not failed. */
  readonly chargedToday: bigint
  /** When the last automatic payment was ordered; `null`: never. */
  readonly lastAt: Date | null
  /** When the unfinished automatic payment was ordered; `null`: none is. */
  readonly openSince: Date | null
  /** The last month in which the card works: `2030-12`. */
  readonly expires: string
  /** The month now, in the time zone of the organization. */
  readonly month: string
  /** The organization or the payer. */
  readonly isBlocked: boolean
  readonly now: Date
}

export type AutoTopUpDecision =
  | 'charge'
  | 'wait'
  | { readonly stop: 'blocked' | 'card_expired' | 'no_outcome' }

/** Whether the saved card is charged now. Pure. */
export function decideAutoTopUp(facts: AutoTopUpFacts): AutoTopUpDecision {
  const { balance, threshold, amount, dailyMax, chargedToday, lastAt, openSince, now } = facts
  if (facts.isBlocked) return { stop: 'blocked' }
  if (openSince !== null)
    return minutesFrom(openSince, now) >= outcomeHoursMax * 60 ? { stop: 'no_outcome' } : 'wait'
  if (balance >= threshold) return 'wait'
  if (lastAt !== null && minutesFrom(lastAt, now) < intervalMinutesMin) return 'wait'
  if (chargedToday + amount > dailyMax) return 'wait'
  return facts.expires < facts.month ? { stop: 'card_expired' } : 'charge'
}

function minutesFrom(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 60_000
}
