import { z } from 'zod'
import { allowedModels, apiVersion, duration, metadata, rubles } from './resource.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Number of ApiKeys of a namespace without an ApiKeyQuota. */
export const apiKeysMaxDefault = 200

const perKey = z.strictObject({
  requestsPerMinute: z
    .int()
    .min(1)
    .max(countMax)
    .optional()
    .describe('Highest limits.requestsPerMinute. ApiKeys without that limit get this one.'),
  tokensPerMinute: z
    .int()
    .min(1)
    .max(countMax)
    .optional()
    .describe('Highest limits.tokensPerMinute. ApiKeys without that limit get this one.'),
  dailyBudgetRub: rubles
    .optional()
    .describe('Highest limits.dailyBudgetRub. ApiKeys without a budget get this one.'),
})

const rotation = z.strictObject({
  minInterval: duration({ minMs: hourMs, maxMs: 3650 * dayMs })
    .optional()
    .describe('Shortest rotation.interval. Shorter intervals are extended to it.'),
  maxGracePeriod: duration({ minMs: 0, maxMs: 90 * dayMs })
    .optional()
    .describe('Longest rotation.gracePeriod. Longer ones are shortened to it.'),
})

const spec = z
  .strictObject({
    apiKeys: z
      .int()
      .min(0)
      .max(100_000)
      .default(apiKeysMaxDefault)
      .describe('Number of ApiKeys. The oldest get keys, the others wait.'),
    totalDailyBudgetRub: rubles
      .optional()
      .describe(
        'Sum of the daily budgets of all ApiKeys. Older ApiKeys get their budgets first. If it is set, ApiKeys must have a budget, or perKey.dailyBudgetRub must be set.',
      ),
    perKey: perKey.default({}).describe('Highest limits of each ApiKey.'),
    allowedModels: allowedModels.describe(
      'Models that ApiKeys may use, each <provider>/<model> or <provider>/*. Unset allows all models.',
    ),
    rotation: rotation.default({}).describe('Bounds of spec.rotation of each ApiKey.'),
  })
  .describe('The most that the ApiKeys of this namespace may have.')

/** What the ApiKeys of a namespace may have at most. */
export const apiKeyQuotaSchema = z
  .strictObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal('ApiKeyQuota'),
    metadata,
    spec,
  })
  .describe(
    'The most that the ApiKeys of a namespace may have. Administrators write it. Of several in one namespace, all apply.',
  )
