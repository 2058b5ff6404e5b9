import { z } from 'zod'
import { findRub, formatRub, type NanoRub } from '#core/ledger/money'

/** An amount in a response: a plain decimal of rubles with at most 9 fraction digits. */
export const rubles = z
  .string()
  .regex(/^-?\d{1,10}(\.\d{1,9})?$/)
  .meta({ description: 'Rubles, as a decimal with at most 9 fraction digits.', examples: ['12.3456'] })

/** An amount in a request, in the same format. Negative where `min` allows it. */
export function rublesFrom(min: NanoRub, max: NanoRub) {
  return z
    .string()
    .max(24)
    .transform((text, context): NanoRub => {
      const amount = findRub(text)
      if (amount !== undefined && amount >= min && amount <= max) return amount
      context.addIssue({
        code: 'custom',
        message: `must be an amount of rubles from ${formatRub(min)} to ${formatRub(max)}, such as "100.50"`,
      })
      return z.NEVER
    })
}
