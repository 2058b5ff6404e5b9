import type { z } from 'zod'

/** A rule for one value, written twice: in TypeScript, and in CEL for the API server. */
export type Rule<Value> = {
  /** Uses `self`, and `oldSelf` to compare with the previous value. */
  readonly cel: string
  /** Shown to users who break the rule. */
  readonly message: string
  /** Absent: only the API server can check it, since it compares with the previous value. */
  readonly holds?: (value: Value) => boolean
  /** Field inside this value to report. Default: the value itself. */
  readonly field?: string
}

/** The schema with rules that both zod and the API server check. */
export function ruled<Schema extends z.ZodType>(
  schema: Schema,
  rules: readonly Rule<z.output<Schema>>[],
): Schema {
  const refined = rules.reduce(
    (before, { holds, message, field }) =>
      holds === undefined
        ? before
        : before.refine(holds, { error: message, ...(field === undefined ? {} : { path: [field] }) }),
    schema,
  )
  return refined.meta({ [rulesKeyword]: [...rulesOf(schema), ...rules.map(celOf)] })
}

const rulesKeyword = 'x-kubernetes-validations'

/** Rules that the schema already has. */
function rulesOf(schema: z.ZodType): readonly unknown[] {
  const rules = schema.meta()?.[rulesKeyword]
  return Array.isArray(rules) ? rules : []
}

function celOf({ cel, message, holds, field }: Rule<never>): object {
  return {
    rule: cel,
    message,
    reason: holds === undefined ? 'FieldValueForbidden' : 'FieldValueInvalid',
    ...(field === undefined ? {} : { fieldPath: `.${field}` }),
  }
}

/** A pattern as CEL's `matches` takes it: RE2, in a raw string. */
export function matchesCel(pattern: RegExp, of = 'self'): string {
  return `${of}.matches(r"${pattern.source.replaceAll('\\/', '/')}")`
}

/** For a list whose items are identified by name, as server-side apply merges it. */
export const namedList = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] } as const

/** For an unordered list without duplicates. */
export const setList = { 'x-kubernetes-list-type': 'set' } as const

/**
 * For a field that is unknown to the previous release: the API server leaves it absent, and the reader fills
 * in the default. Written into every object, it would be an unknown field, which the operator of that release
 * rejects.
 */
export const unwrittenDefault = { 'x-unwritten-default': true } as const

/** Whether the list has no duplicates. */
export function areDistinct(items: readonly string[]): boolean {
  return new Set(items).size === items.length
}
