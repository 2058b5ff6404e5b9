import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'

const counts = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
  'output_tokens_details',
] as const

/** The counts after another report, which may repeat some and give others as null: the last number of each is valid. */
export function withReport(known: JsonObject, report: unknown): JsonObject {
  const fields = fieldsOf(report) ?? {}
  const told = counts.filter((name) => fields[name] !== null && fields[name] !== undefined)
  return { ...known, ...Object.fromEntries(told.map((name) => [name, fields[name]])) }
}

/**
 * The counts in OpenAI's terms: `input_tokens` excludes what was read from the cache and written to it, a prompt's tokens
 * include both. `undefined` as long as one of the totals is missing.
 */
export function usageOf(report: JsonObject): JsonObject | undefined {
  const { input_tokens: input, output_tokens: output } = report
  if (input === undefined || output === undefined) return undefined
  const cached = report.cache_read_input_tokens ?? 0
  const written = report.cache_creation_input_tokens ?? 0
  const thinking = fieldsOf(report.output_tokens_details)?.thinking_tokens ?? 0
  return {
    prompt_tokens: Number(input) + Number(cached) + Number(written),
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: thinking },
  }
}
