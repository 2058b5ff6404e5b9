import type { Refusal } from './refusal.ts'

/** Parses a body. An empty body means `{}`. */
export function jsonOf(text: unknown): { readonly value: unknown } | Refusal {
  if (text === undefined || text === null || text === '') return { value: {} }
  try {
    return { value: JSON.parse(String(text)) }
  } catch {
    return { refused: 400, description: 'Body is not JSON' }
  }
}
