import type { z } from 'zod'
import { type Rule, ruled } from './rule.ts'

/** Message for what `isStorable` rejects. */
export const unstorable = 'must not contain U+0000 or an unpaired surrogate: the database cannot store them'

/** Whether Postgres can store a text, or every text and name inside any JSON. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, inner]) => isStorable(name) && isStorable(inner))
}

/** A free text that Postgres can store. A string with a pattern needs no such rule. */
export function storable<Schema extends z.ZodType<string>>(schema: Schema): Schema {
  return ruled(schema, [storableRule(withoutNul('self'))])
}

/** A map whose names are free texts. */
export function withStorableNames<Schema extends z.ZodType<Record<string, string>>>(schema: Schema): Schema {
  return ruled(schema, [storableRule(`self.all(name, ${withoutNul('name')})`)])
}

function storableRule(cel: string): Rule<unknown> {
  return { cel, message: unstorable, holds: isStorable }
}

/** The API server's texts are UTF-8, which has no surrogates. */
function withoutNul(text: string): string {
  return `!${text}.contains('\\u0000')`
}
