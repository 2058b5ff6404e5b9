import { z } from 'zod'
import { areDistinct, matchesCel, ruled, setList } from './rule.ts'

/** API group of our custom resources. */
export const group = 'modelgateway.dev'
export const version = 'v1alpha1'
export const apiVersion = `${group}/${version}` as const

/** Label of a namespace: the organization that its keys may charge. */
export const organizationLabel = `${group}/organization`

/** Annotation of a namespace: the models that its ModelRoutes may offer, comma-separated. */
export const mayOfferAnnotation = `${group}/may-offer`

/** Annotation of a namespace: what its ApiKeys may ask for beyond what every ApiKey may, comma-separated. */
export const keysMayAnnotation = `${group}/keys-may`

/** A string with a pattern. zod and the API server reject it with the same message. */
export function patterned(max: number, pattern: RegExp, problem: string) {
  return ruled(z.string({ error: problem }).max(max), [
    { cel: matchesCel(pattern), message: problem, holds: (text) => pattern.test(text) },
  ])
}

/** The name of an object: as long as the API server allows. */
export const resourceName = patterned(
  253,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'must be a valid object name: lowercase letters, digits, hyphens and dots',
)

/** The name of a part, short enough for a label's value. */
export const partName = patterned(
  63,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  'must be at most 63 lowercase letters, digits and hyphens',
)

export const organizationName = patterned(
  63,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  'must be an organization name: lowercase letters, digits and hyphens',
)

/** Fields of every object; the API server adds more. */
export const metadata = z.looseObject({
  name: resourceName,
  namespace: resourceName.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})

/** A key in the data of a Secret. */
export const secretKey = patterned(
  253,
  /^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$/,
  'must be a valid Secret key: letters, digits, hyphens, dots and underscores',
)

/** One key of a Secret in the same namespace. */
export const secretKeyRef = z.strictObject({
  name: resourceName.describe('Name of the Secret.'),
  key: secretKey.describe('Key in the Secret.'),
})

/**
 * A model as clients name it, `<provider>/<model>`, of visible ASCII: JavaScript and RE2
 * disagree on what other white space is. No `*`: it stands for all models of a provider.
 */
export const modelName = patterned(253, /^[!-)+-.0-~]+\/[!-)+-~]+$/, 'must be <provider>/<model>, without *')

/** One model, or with `*` for its name all of a provider. A `*` within a name would match nothing. */
export const allowedModel = patterned(
  253,
  /^[!-)+-.0-~]+\/([!-)+-~]+|\*)$/,
  'must be <provider>/<model> or <provider>/*; no other wildcard is supported',
)

/** A list of those; unset allows all models. */
export const allowedModels = z
  .array(allowedModel)
  .max(256)
  .refine(areDistinct, { error: 'must not contain the same model twice' })
  .meta(setList)
  .optional()

/** Rubles as a decimal string, never a float: at most nine digits before the point and nine after it. */
export const rubles = decimal(/^\d{1,9}(\.\d{1,9})?$/, 'must be a quoted amount of rubles, such as "250.00"')

/** A decimal string; a YAML number would be a float. */
export function decimal(pattern: RegExp, problem: string) {
  return patterned(32, pattern, problem)
}

const msOfUnit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const
/** A duration as Kubernetes writes it. */
export const durationPattern = /^(\d{1,9}(ms|s|m|h))+$/
const durationParts = /(\d{1,9})(ms|s|m|h)/g

/** A duration as Kubernetes writes it: `90s`, `10m`, `1h30m`. From `minMs` to `maxMs`, in milliseconds. */
export function duration({ minMs, maxMs }: { readonly minMs: number; readonly maxMs: number }) {
  const form = matchesCel(durationPattern)
  return ruled(z.string().max(32), [
    {
      cel: form,
      message: 'must be a duration, such as 90s, 10m or 1h30m',
      holds: (text) => durationPattern.test(text),
    },
    {
      cel: `!${form} || (duration(self) >= duration('${minMs}ms') && duration(self) <= duration('${maxMs}ms'))`,
      message: `must be between ${minMs / 1000}s and ${maxMs / 1000}s`,
      holds: (text) =>
        !durationPattern.test(text) || (durationMs(text) >= minMs && durationMs(text) <= maxMs),
    },
  ])
}

/** Milliseconds of a duration that `duration` has checked. */
export function durationMs(text: string): number {
  return [...text.matchAll(durationParts)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * msOfUnit[unit as keyof typeof msOfUnit],
    0,
  )
}

/** The shortest text with one unit that `durationMs` reads as this number of milliseconds. */
export function durationText(ms: number): string {
  if (ms === 0) return '0s'
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  if (ms % 60_000 === 0) return `${ms / 60_000}m`
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

/** A time in a status. */
export const time = z.iso.datetime({ offset: true }).max(64)

/** Narrower than RFC 3339 where zod and CEL differ: capital letters, whole seconds, years of four digits. */
const timeForm = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const isTime = (text: string) =>
  timeForm.test(text) && z.iso.datetime({ offset: true }).safeParse(text).success

/** A time as users write it. */
export const writtenTime = ruled(z.string().max(64), [
  {
    // A day that no month has is an error of timestamp(), and that is a rejection too.
    cel: `${matchesCel(timeForm)} && timestamp(self) > timestamp('0001-01-01T00:00:00Z')`,
    message: 'must be an RFC 3339 time, such as 2027-06-01T00:00:00Z',
    holds: isTime,
  },
])

/** Conditions of a status. The operator writes them, and reads what it wrote. `said`: what each of them means. */
export function conditionsThat(said: string) {
  return z
    .array(
      z.looseObject({
        type: z.string().max(316).describe('What the condition is about.'),
        status: z.enum(['True', 'False', 'Unknown']).describe('True is good, for every type.'),
        reason: z.string().max(1024).optional().describe('Why, in one word for programs.'),
        message: z
          .string()
          .max(32_768)
          .optional()
          .describe('Explanation of the reason and how to fix it, for users.'),
        observedGeneration: z
          .int()
          .min(0)
          .optional()
          .describe('metadata.generation of the spec that this was found out about.'),
        lastTransitionTime: time.optional().describe('When status last changed.'),
      }),
    )
    .max(16)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .optional()
    .describe(said)
}

export const observedGeneration = z
  .int()
  .min(0)
  .optional()
  .describe('metadata.generation of the spec that this status describes.')
