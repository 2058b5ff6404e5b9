import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'

/**
 * Gemini's `usageMetadata` in OpenAI's terms; `undefined` if there is none. The prompt includes what is cached of it, but
 * not what its tools read, and the candidates do not include thoughts (https://ai.google.dev/api/generate-content#UsageMetadata).
 */
export function usageOf(metadata: unknown): JsonObject | undefined {
  const counts = fieldsOf(metadata)
  if (counts === undefined) return undefined
  const { promptTokenCount: prompt, candidatesTokenCount: said, thoughtsTokenCount: thoughts } = counts
  return {
    prompt_tokens: sumOf(prompt, counts.toolUsePromptTokenCount),
    completion_tokens: sumOf(said ?? 0, thoughts),
    prompt_tokens_details: { cached_tokens: counts.cachedContentTokenCount ?? 0 },
    completion_tokens_details: { reasoning_tokens: thoughts ?? 0 },
  }
}

/** The first only if it is no number: that is for the reader of the usage to judge. */
function sumOf(count: unknown, more: unknown): unknown {
  return typeof count === 'number' && more !== undefined && more !== null ? count + Number(more) : count
}

/** The counts after another event of a stream, which may leave out some of the earlier ones. */
export function laterCounts(known: JsonObject | undefined, metadata: unknown): JsonObject | undefined {
  const counts = Object.entries(fieldsOf(metadata) ?? {}).filter(([, count]) => count !== null)
  return counts.length === 0 ? known : { ...known, ...Object.fromEntries(counts) }
}
