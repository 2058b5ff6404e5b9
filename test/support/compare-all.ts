import { comparedDays, comparePayments } from '#cabinet/payments/internal/comparison'

/** Compares the last days, as the worker's job does part by part. */
export async function compareAll(
  deps: Parameters<typeof comparePayments>[0],
  days: number,
  now: Date,
): Promise<void> {
  let uncompared = comparedDays(days, now)
  while (uncompared[0] !== undefined)
    uncompared = [...(await comparePayments(deps, uncompared[0])), ...uncompared.slice(1)]
}
