import { z } from 'zod'
import { findRub, type NanoRub } from './money.ts'

/** An amount of rubles, not below zero. */
export const rublesSetting = z.string().transform((text, context): NanoRub => {
  const amount = findRub(text)
  if (amount !== undefined && amount >= 0n) return amount
  context.addIssue('must be an amount in rubles, such as 1000 or 0.50')
  return z.NEVER
})
