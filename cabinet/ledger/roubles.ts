import { z } from 'zod'
import { findRub, formatRub, type NanoRub } from './money.ts'

/** An amount in an answer: a plain decimal of roubles with at most 9 fraction digits. */
export const roubles = z
  .string()
  .regex(/^-?\d{1,10}(\.\d{1,9})?$/)
  .meta({ description: 'Roubles, as a decimal with at most 9 fraction digits.', examples: ['12.3456'] })

/** An amount in a request, as the same text; negative where `min` allows it. */
export function roublesFrom(min: NanoRub, max: NanoRub) {
  return z
    .string()
    .max(24)
    .transform((text, context): NanoRub => {
      const amount = findRub(text)
      if (amount !== undefined && amount >= min && amount <= max) return amount
      context.addIssue({
        code: 'custom',
        message: `must be an amount of roubles from ${formatRub(min)} to ${formatRub(max)}, such as "100.50"`,
      })
      return z.NEVER
    })
}
