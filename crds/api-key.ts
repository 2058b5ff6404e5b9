import { z } from 'zod'
import {
  allowedModel,
  apiVersion,
  conditions,
  duration,
  metadata,
  observedGeneration,
  organizationName,
  patterned,
  resourceName,
  roubles,
  secretKey,
  secretKeyRef,
  time,
  writtenTime,
} from './resource.ts'
import { areDistinct, ruled, setList } from './rule.ts'
import { storable } from './storable.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647

const organization = ruled(organizationName, [
  {
    cel: 'self == oldSelf',
    message: 'is immutable: usage and balance belong to the organization; create a new ApiKey instead',
  },
])

const limits = z.strictObject({
  requestsPerMinute: z.int().min(1).max(countMax).optional().describe('In any 60 seconds.'),
  tokensPerMinute: z
    .int()
    .min(1)
    .max(countMax)
    .optional()
    .describe('In any 60 seconds; running requests count with what they are expected to use.'),
  dailyBudgetRub: roubles.optional().describe('Roubles a Moscow day, a decimal string such as "250.00".'),
})

const secret = ruled(
  z.strictObject({
    name: resourceName.optional().describe('Default: <metadata.name>-apikey. Immutable.'),
    key: secretKey.default('OPENAI_API_KEY').describe('Key of the Secret that holds the value.'),
    baseURLKey: patterned(
      253,
      /^(\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*)?$/,
      'must be a key of a Secret, or empty: then it is not written',
    )
      .default('OPENAI_BASE_URL')
      .describe('Key of the Secret that holds the base address; empty: it is not written.'),
  }),
  [
    {
      cel: 'has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)',
      message: 'is immutable: pods read the value from there; create a new ApiKey instead',
      field: 'name',
    },
    {
      cel: 'self.key != self.baseURLKey',
      message: 'must differ from key: one key of the Secret cannot hold both',
      holds: ({ key, baseURLKey }) => key !== baseURLKey,
      field: 'baseURLKey',
    },
  ],
)

const spec = z.strictObject({
  organization: organization.describe(
    'Who pays: its name in the cabinet. The namespace must carry the label modelgateway.dev/organization with it. Immutable.',
  ),
  displayName: storable(z.string().max(120)).optional().describe('What people call it.'),
  suspend: z.boolean().default(false).describe('Blocked while true; nothing is deleted.'),
  expiresAt: writtenTime.optional().describe('When it ends by itself.'),
  allowedModels: z
    .array(allowedModel)
    .max(256)
    .refine(areDistinct, { error: 'must not have one model twice' })
    .meta(setList)
    .optional()
    .describe('Models it may use, each <provider>/<model> or <provider>/*; absent: all.'),
  limits: limits.default({}).describe("Absent ones: the platform's defaults."),
  readBalance: z.boolean().default(false).describe("Whether it may see the organization's balance."),
  secret: secret
    .default({ key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' })
    .describe('The Secret that the value is written to, ready for envFrom.'),
  rotation: z
    .strictObject({
      trigger: storable(z.string().min(1).max(253)).describe('Any change of this text makes a new value.'),
      gracePeriod: duration({ minMs: 0, maxMs: 90 * 86_400_000 })
        .default('24h')
        .describe('How long the value before lives on.'),
    })
    .optional()
    .describe('When the value is replaced by a new one.'),
  deletionPolicy: z
    .enum(['Revoke', 'Orphan'])
    .default('Revoke')
    .describe('Orphan: the key stays, as one of the cabinet, when this object goes.'),
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
      observedGeneration,
      keyID: z.string().max(64).optional().describe('What support asks for.'),
      keyPrefix: z.string().max(64).optional().describe('All of the value that is ever shown.'),
      managedBy: z.enum(['kubernetes', 'cabinet']).optional(),
      secretRef: secretKeyRef.optional(),
      rotation: z
        .looseObject({
          observedTrigger: z.string().max(253).optional(),
          lastRotationTime: time.optional(),
          previousKeyExpiresAt: time.optional(),
        })
        .optional(),
      conditions: conditions.optional(),
    })
    .optional(),
})

export type ApiKey = z.infer<typeof apiKeySchema>
