import { z } from 'zod'
import type { NanoRub } from './money.ts'
import { rublesSetting } from './money-setting.ts'

/** When a mailbox gets its trial, and the daily limit for all trials. */
export type TrialRules = {
  /** With the confirmed address, with the first top-up after it, or never. */
  readonly grant: 'email' | 'first_top_up' | 'none'
  /** Per UTC day. */
  readonly dailyMax: NanoRub
}

/** A hundred trials. */
const dailyRubDefault = '3000'

/** Settings of the processes that grant or measure trials. */
export const trialSettings = {
  /** When an account gets 30 ₽: `email`, on confirmation of its address; `first_top_up`; or `none`. */
  TRIAL_GRANT: z.enum(['email', 'first_top_up', 'none']).default('email'),
  /** Whole rubles that all trials of a day (UTC) may cost. */
  TRIAL_DAILY_RUB: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number of rubles from 0 to 999999999')
    .default(dailyRubDefault)
    .pipe(rublesSetting),
}

export function trialRulesOf(data: z.output<z.ZodObject<typeof trialSettings>>): TrialRules {
  return { grant: data.TRIAL_GRANT, dailyMax: data.TRIAL_DAILY_RUB }
}
