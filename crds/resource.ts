import { z } from 'zod'

/** Group and version of every custom resource of ours. */
export const apiVersion = 'modelgateway.dev/v1alpha1'

/** A name that may also be a label's value: lower-case letters, digits, hyphens and dots inside. */
export const resourceName = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be lower-case letters, digits, hyphens and dots')

/** What every object carries; the API server adds more. */
export const metadata = z.looseObject({
  name: resourceName,
  namespace: resourceName.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})

/** One key of a Secret in the same namespace. */
export const secretKeyRef = z.strictObject({ name: resourceName, key: z.string().min(1).max(253) })

/** A model as clients name it: `<provider>/<model>`. */
export const modelName = z
  .string()
  .max(253)
  .regex(/^[^/\s]+\/\S+$/, 'must be <provider>/<model>')

/** Roubles as a decimal string, never a float: at most nine digits before the point and nine after it. */
export const roubles = decimal(/^\d{1,9}(\.\d{1,9})?$/, 'must be roubles in quotes, such as "250.00"')

/** A decimal string; a YAML number would be a float. */
export function decimal(pattern: RegExp, problem: string) {
  return z.string({ error: problem }).regex(pattern, problem)
}

const msOfUnit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const
const durationParts = /(\d{1,9})(ms|s|m|h)/g

/** A span of time as Kubernetes writes it: `90s`, `10m`, `1h30m`. From `minMs` to `maxMs`, in milliseconds. */
export function duration({ minMs, maxMs }: { readonly minMs: number; readonly maxMs: number }) {
  return z
    .string()
    .max(32)
    .regex(/^(\d{1,9}(ms|s|m|h))+$/, {
      error: 'must be a span of time, such as 90s, 10m or 1h30m',
      abort: true,
    })
    .refine((text) => durationMs(text) >= minMs && durationMs(text) <= maxMs, {
      error: `must be from ${minMs / 1000}s to ${maxMs / 1000}s`,
    })
}

/** Milliseconds of a span of time that `duration` has checked. */
export function durationMs(text: string): number {
  return [...text.matchAll(durationParts)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * msOfUnit[unit as keyof typeof msOfUnit],
    0,
  )
}

/** The shortest text with one unit that `durationMs` reads as so many milliseconds. */
export function durationText(ms: number): string {
  if (ms === 0) return '0s'
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  if (ms % 60_000 === 0) return `${ms / 60_000}m`
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

/** One condition of a status. */
export const condition = z.looseObject({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024).optional(),
  message: z.string().max(32_768).optional(),
  observedGeneration: z.int().optional(),
  lastTransitionTime: z.string().optional(),
})
