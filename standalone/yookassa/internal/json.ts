import type { Refusal } from './refusal.ts'

/** What a body says; an empty one says `{}`. */
export function jsonOf(text: unknown): { readonly value: unknown } | Refusal {
  if (text === undefined || text === null || text === '') return { value: {} }
  try {
    return { value: JSON.parse(String(text)) }
  } catch {
    return { refused: 400, description: 'Body is not JSON' }
  }
}
