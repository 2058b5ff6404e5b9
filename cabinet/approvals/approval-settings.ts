import { z } from 'zod'
import { rublesSetting } from '#core/ledger/money-setting'

/** The setting of the two-person rule, in rubles. */
export const aloneMaxSetting = z.string().default('5000').pipe(rublesSetting)
