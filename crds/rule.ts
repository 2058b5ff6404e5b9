import type { z } from 'zod'

/** A rule over one value, said twice: here in TypeScript and for the API server in CEL. */
export type Rule<Value> = {
  /** Over `self`, and `oldSelf` where it compares with what was before. */
  readonly cel: string
  /** What a person reads who breaks it. */
  readonly message: string
  /** Absent: only the API server can know, since it compares with what was before. */
  readonly holds?: (value: Value) => boolean
  /** The field to name, inside this value; unless said, the value itself. */
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

/** Rules that the schema has already. */
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

/** Of a list whose items are told apart by their names, as server-side apply merges it. */
export const namedList = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] } as const

/** Of a list without an order, where nothing is twice. */
export const setList = { 'x-kubernetes-list-type': 'set' } as const

/** Whether no two of the list are the same. */
export function areDistinct(items: readonly string[]): boolean {
  return new Set(items).size === items.length
}
