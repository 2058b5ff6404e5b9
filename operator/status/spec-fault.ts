import type { z } from 'zod'
import type { SpecProblem } from '#core/catalog/provider-resource'

/** Largest number of problems that a condition names, to keep it readable. */
const faultsMax = 5

/** The problems of a resource, by field, for users. Never a value: it may be a secret. */
export function faultOf(error: z.ZodError): string {
  const faults = error.issues.slice(0, faultsMax).map(({ path, message }) => `${path.join('.')}: ${message}`)
  const more = error.issues.length - faults.length
  return [...faults, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** The same of one problem. */
export function sentenceOf({ path, problem }: SpecProblem): string {
  return `${path.join('.')}: ${problem}`
}
