import { fieldsOf } from '../../wire/json-fields.ts'
import { mapItems } from '../../wire/map-values.ts'

/**
 * Fields beyond OpenAI's that callers put into messages, their parts and calls, and into tools; who does not know them
 * rejects them. What models answered with and some read again: Gemini's signatures, in messages and calls; OpenRouter's,
 * and its images. Then Anthropic's marks for its cache, and the `index` that calls have in streams only.
 */
export const extraFields = ['extra_content', 'reasoning_details', 'images', 'cache_control', 'index'] as const

/** A list without these fields of its items; the very same one where no item has any of them. */
export function withoutFields(list: unknown, unwanted: readonly string[]): unknown {
  return Array.isArray(list) ? mapItems(list, (item) => withoutFieldsOf(item, unwanted)) : list
}

/** A list of tools without these fields of the tools and of their functions; schemas keep all. */
export function withoutFieldsOfTools(tools: unknown, unwanted: readonly string[]): unknown {
  if (!Array.isArray(tools)) return tools
  return mapItems(tools, (given) => {
    const tool = withoutFieldsOf(given, unwanted)
    const called = fieldsOf(tool)?.function
    const kept = withoutFieldsOf(called, unwanted)
    return kept === called ? tool : { ...fieldsOf(tool), function: kept }
  })
}

function withoutFieldsOf(given: unknown, unwanted: readonly string[]): unknown {
  const fields = fieldsOf(given)
  if (fields === undefined || !unwanted.some((name) => Object.hasOwn(fields, name))) return given
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !unwanted.includes(name)))
}
