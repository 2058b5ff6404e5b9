import type { z } from 'zod'
import type { SpecProblem } from '#cabinet/catalogue/provider-resource'

/** Largest number of faults that a condition names; nobody reads more at once. */
const faultsMax = 5

/** What is wrong with a resource, by field, for people. Never a value: it may be a secret. */
export function faultOf(error: z.ZodError): string {
  const faults = error.issues.slice(0, faultsMax).map(({ path, message }) => `${path.join('.')}: ${message}`)
  const more = error.issues.length - faults.length
  return [...faults, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** The same of one problem. */
export function sentenceOf({ path, problem }: SpecProblem): string {
  return `${path.join('.')}: ${problem}`
}
