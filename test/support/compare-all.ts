import { comparedDays, comparePayments } from '#cabinet/payments/internal/comparison'

/** Compares the last days, as the worker's job does one by one. */
export async function compareAll(
  deps: Parameters<typeof comparePayments>[0],
  days: number,
  now: Date,
): Promise<void> {
  for (const day of comparedDays(days, now)) await comparePayments(deps, day)
}
