import type { Fields, Violation } from './gemini-proto.ts'

/** A rejection by the Gemini API: the HTTP status, its name and the words. */
export type GeminiFault = {
  readonly code: number
  readonly status: string
  readonly message: string
  readonly details?: readonly object[]
}

export function invalid(message: string): GeminiFault {
  return { code: 400, status: 'INVALID_ARGUMENT', message }
}

/** For a rule that is documented, but without the words of its rejection: the API's words for anything of the kind. */
export const invalidArgument = invalid('Request contains an invalid argument.')

/** The form of rules about one field; a list of them is separated by line breaks, and ends with one. */
export function invalidField(path: string, reason: string): GeminiFault {
  return invalid(`* ${path}: ${reason}\n`)
}

export function unreadable(violations: readonly Violation[]): GeminiFault {
  const fieldViolations = violations.map(({ field, description }) =>
    field === '' ? { description } : { field, description },
  )
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }]
  return { ...invalid(violations.map(({ description }) => description).join('\n')), details }
}

/** The first of these rules that a request breaks. */
export function firstFault(...rules: readonly (() => GeminiFault | undefined)[]): GeminiFault | undefined {
  for (const rule of rules) {
    const fault = rule()
    if (fault !== undefined) return fault
  }
  return undefined
}

/** A list of messages, which the parser has read. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value : []
}

/** A message, which the parser has read. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
