import { z } from 'zod'
import { apiVersion, condition, duration, metadata, resourceName, roubles, secretKeyRef } from './resource.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647

const organizationName = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'must be the name of an organization: lower-case letters, digits, hyphens',
  )

/** A model, or all of a provider's: `anthropic/*`. */
const allowedModel = z
  .string()
  .max(253)
  .regex(/^[^/\s]+\/\S+$/, 'must be <provider>/<model> or <provider>/*')

const spec = z.strictObject({
  /** Who pays; never changed. */
  organization: organizationName,
  displayName: z.string().max(120).optional(),
  /** Blocked while true; nothing is deleted. */
  suspend: z.boolean().default(false),
  expiresAt: z.iso.datetime({ offset: true, error: 'must be a time like 2027-06-01T00:00:00Z' }).optional(),
  /** Absent: all. */
  allowedModels: z.array(allowedModel).max(256).optional(),
  limits: z
    .strictObject({
      requestsPerMinute: z.int().min(1).max(countMax).optional(),
      tokensPerMinute: z.int().min(1).max(countMax).optional(),
      dailyBudgetRub: roubles.optional(),
    })
    .default({}),
  readBalance: z.boolean().default(false),
  /** Where the value is written to. */
  secret: z
    .strictObject({
      name: resourceName.optional(),
      key: z.string().min(1).max(253).default('OPENAI_API_KEY'),
      baseURLKey: z.string().max(253).default('OPENAI_BASE_URL'),
    })
    .default({ key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' }),
  /** A changed trigger makes a new value; the old one lives on for the grace. */
  rotation: z
    .strictObject({
      trigger: z.string().min(1).max(253),
      gracePeriod: duration({ minMs: 0, maxMs: 90 * 86_400_000 }).default('24h'),
    })
    .optional(),
  /** `Orphan`: the key stays when the resource goes. */
  deletionPolicy: z.enum(['Revoke', 'Orphan']).default('Revoke'),
})

/** An API key of an organization. */
export const apiKeySchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('ApiKey'),
  metadata,
  spec,
  /** Conditions: Accepted, SecretReady, Programmed, DatabaseReachable, Ready. */
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      keyID: z.string().optional(),
      keyPrefix: z.string().optional(),
      managedBy: z.enum(['kubernetes', 'cabinet']).optional(),
      secretRef: secretKeyRef.optional(),
      rotation: z.looseObject({}).optional(),
      conditions: z.array(condition).optional(),
    })
    .optional(),
})

export type ApiKey = z.infer<typeof apiKeySchema>
