import { z } from 'zod'
import { networkProblem, networksMax, readNetwork } from './network.ts'
import {
  allowedModels,
  apiVersion,
  conditionsThat,
  duration,
  durationMs,
  durationPattern,
  metadata,
  observedGeneration,
  organizationName,
  patterned,
  resourceName,
  rubles,
  secretKey,
  secretKeyRef,
  time,
  writtenTime,
} from './resource.ts'
import { areDistinct, matchesCel, ruled, setList, unwrittenDefault } from './rule.ts'
import { secretTemplate } from './secret-template.ts'
import { storable } from './storable.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647

const organization = ruled(organizationName, [
  {
    cel: 'self == oldSelf',
    message: 'is immutable: usage and balance belong to the organization; create a new ApiKey instead',
  },
])

/** Of a week or longer. An ApiKey that may spend nothing is suspended instead. */
const budget = ruled(rubles, [
  { cel: matchesCel(/[1-9]/), message: 'must be more than 0 rubles', holds: (text) => /[1-9]/.test(text) },
])

const limits = z.strictObject({
  requestsPerMinute: z.int().min(1).max(countMax).optional().describe('Requests allowed in any 60 seconds.'),
  tokensPerMinute: z
    .int()
    .min(1)
    .max(countMax)
    .optional()
    .describe('Tokens allowed in any 60 seconds. Running requests count with their expected use.'),
  dailyBudgetRub: rubles
    .optional()
    .describe(
      'Rubles that may be spent per day in the time zone of the organization, as a decimal string such as "250.00".',
    ),
  weeklyBudgetRub: budget
    .optional()
    .describe('Rubles that may be spent per week from Monday, in the time zone of the organization.'),
  monthlyBudgetRub: budget
    .optional()
    .describe('Rubles that may be spent per calendar month, in the time zone of the organization.'),
  totalBudgetRub: budget
    .optional()
    .describe(
      'Rubles that may be spent in all. The key stops when they are spent, until the budget is raised.',
    ),
})

const secret = ruled(
  z.strictObject({
    name: resourceName
      .optional()
      .describe('Name of the Secret. Defaults to <metadata.name>-apikey. Immutable.'),
    key: secretKey.default('OPENAI_API_KEY').describe('Key in the Secret under which the API key is stored.'),
    baseURLKey: patterned(
      253,
      /^(\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*)?$/,
      'must be a valid Secret key, or empty to leave the base URL out',
    )
      .default('OPENAI_BASE_URL')
      .describe(
        'Key in the Secret under which the base URL of the gateway is stored. Empty leaves the base URL out.',
      ),
    template: secretTemplate
      .optional()
      .describe('Labels and annotations for the Secret. Entries removed here are removed there.'),
  }),
  [
    {
      cel: 'has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)',
      message: 'is immutable: pods read the key from this Secret; create a new ApiKey instead',
      field: 'name',
    },
    {
      cel: 'self.key != self.baseURLKey',
      message: 'must differ from key: one Secret key cannot hold both values',
      holds: ({ key, baseURLKey }) => key !== baseURLKey,
      field: 'baseURLKey',
    },
  ],
)

/** What the API server cannot check: numbers too large, bits after the prefix. */
function refineNetwork(text: string, context: z.RefinementCtx): void {
  const read = readNetwork(text)
  if ('problem' in read && read.problem !== networkProblem) context.addIssue(read.problem)
  else if ('problem' in read && networkShape.test(text)) context.addIssue(read.problem)
}

/** Characters of addresses and networks. */
const networkShape = /^[0-9A-Fa-f:.]{2,45}(\/[0-9]{1,3})?$/

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const rotation = ruled(
  z.strictObject({
    trigger: storable(z.string().min(1).max(253))
      .optional()
      .describe('Any text. Changing it rotates the API key at once.'),
    interval: duration({ minMs: hourMs, maxMs: 3650 * dayMs })
      .optional()
      .describe(
        'How long an API key is used before the next one replaces it, from 1h to 87600h. Rotations happen up to a tenth earlier, so that keys created together do not rotate together.',
      ),
    gracePeriod: duration({ minMs: 0, maxMs: 90 * dayMs })
      .default('24h')
      .describe(
        'How long the previous API key stays valid after a rotation, at most 2160h. Must be shorter than interval.',
      ),
  }),
  [
    {
      cel: 'has(self.trigger) || has(self.interval)',
      message: 'must set trigger, interval or both',
      holds: ({ trigger, interval }) => trigger !== undefined || interval !== undefined,
    },
    {
      // A value that is not a duration has its own message.
      cel: [
        '!has(self.interval)',
        `!${matchesCel(durationPattern, 'self.interval')}`,
        `!${matchesCel(durationPattern, 'self.gracePeriod')}`,
        'duration(self.gracePeriod) < duration(self.interval)',
      ].join(' || '),
      message: 'must be shorter than interval, or ever more API keys would be valid at once',
      holds: ({ interval, gracePeriod }) =>
        interval === undefined ||
        ![interval, gracePeriod].every((text) => durationPattern.test(text)) ||
        durationMs(gracePeriod) < durationMs(interval),
      field: 'gracePeriod',
    },
  ],
)

const spec = z
  .strictObject({
    organization: organization.describe(
      'Name of the organization that pays. The namespace must be labelled modelgateway.dev/organization=<name>. Immutable.',
    ),
    displayName: storable(z.string().max(120))
      .optional()
      .describe('Name shown to users. Defaults to metadata.name.'),
    suspend: z.boolean().default(false).describe('Blocks the key while true. Nothing is deleted.'),
    expiresAt: writtenTime.optional().describe('Time at which the key expires. Unset means never.'),
    allowedModels: allowedModels.describe(
      'Models that the key may use, each <provider>/<model> or <provider>/*. Unset allows all models.',
    ),
    allowedIPs: z
      .array(patterned(64, networkShape, networkProblem).superRefine(refineNetwork))
      .min(1)
      .max(networksMax)
      .meta(setList)
      .optional()
      .describe(
        'Addresses and networks that the key may be used from, IPv4 or IPv6, such as 203.0.113.7 or 10.0.0.0/8. Unset allows all.',
      ),
    tags: z
      .array(
        patterned(
          32,
          /^[a-z0-9][a-z0-9._-]*$/,
          'must be a-z, 0-9, dots, underscores and hyphens, and begin with a letter or digit',
        ),
      )
      .max(10)
      .refine(areDistinct, { error: 'must not contain the same tag twice' })
      .meta(setList)
      .optional()
      .describe('Tags by which the usage is split. Unset means none.'),
    limits: limits
      .default({})
      .describe('Limits of this key. Unset limits use the defaults of the installation.'),
    readBalance: z
      .boolean()
      .default(false)
      .describe('Whether the key may read the balance of its organization.'),
    keepsResponsesHours: z
      .int()
      .min(1)
      .max(720)
      .optional()
      .describe(
        'For how many hours responses of POST /v1/responses are stored, so that later requests can refer to them. Unset stores nothing.',
      ),
    secret: secret
      .default({ key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' })
      .describe('Secret that the API key is written to, ready for use with envFrom.'),
    rotation: rotation.optional().describe('When to replace the API key with a new one.'),
    adoption: z
      .enum(['Allow', 'Never'])
      .default('Allow')
      .meta(unwrittenDefault)
      .describe(
        'Whether this ApiKey takes over the key that an earlier ApiKey of this name left behind (deletionPolicy: Orphan), if its Secret still holds it. Never: the key and the Secret stay unchanged. Defaults to Allow.',
      ),
    deletionPolicy: z
      .enum(['Revoke', 'Orphan'])
      .default('Revoke')
      .describe(
        'What happens to the key when this ApiKey is deleted: Revoke ends it, Orphan hands it over to the cabinet, where it stays valid.',
      ),
  })
  .describe('What the key may do, who pays for it, and where it is delivered.')

/** An API key of an organization. */
export const apiKeySchema = z
  .strictObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal('ApiKey'),
    metadata,
    spec,
    status: z
      .looseObject({
        observedGeneration,
        keyID: z.string().max(64).optional().describe('ID of the key, for example to give to support.'),
        keyPrefix: z
          .string()
          .max(64)
          .optional()
          .describe('First and last characters of the API key, the only part that is ever shown.'),
        managedBy: z
          .enum(['kubernetes', 'cabinet'])
          .optional()
          .describe(
            'Who decides about the key: this ApiKey, or the cabinet, of whose key this is a read-only mirror.',
          ),
        secretRef: secretKeyRef.optional().describe('Where the API key was delivered.'),
        rotation: z
          .looseObject({
            observedTrigger: z
              .string()
              .max(253)
              .optional()
              .describe('spec.rotation.trigger for which the API key was last made.'),
            lastRotated: time.optional().describe('When the API key was written to the Secret.'),
            // Without it the API server would reject the whole status that the operator of the first release writes.
            lastRotationTime: time.optional().describe('The same, as written by the first release.'),
            nextRotation: time.optional().describe('When spec.rotation.interval asks for the next API key.'),
            previousKeyExpiresAt: time.optional().describe('Until when the previous API key stays valid.'),
          })
          .optional()
          .describe('When the API key was replaced.'),
        conditions: conditionsThat(
          'Accepted: the spec is valid and the namespace may use the organization. SecretReady: the Secret holds the API key. Programmed: the gateways have its latest state. DatabaseReachable: the operator can reach the database. Ready: all of this, and the key can be used.',
        ),
      })
      .optional()
      .describe('What became of the spec. Written by the operator.'),
  })
  .describe('An API key of an organization for the model gateway, delivered in a Secret.')

export type ApiKey = z.infer<typeof apiKeySchema>
