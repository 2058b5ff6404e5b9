import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { openAiParameters } from '../../../../wire/openai-parameters.ts'

/** Fields of `GenerateContentRequest` that a route may set (https://ai.google.dev/api/generate-content, read 2026-11-20). */
const requestFields: ReadonlySet<string> = new Set([
  'safetySettings',
  'cachedContent',
  'serviceTier',
  'labels',
  'store',
])
/** Tools that the provider runs. */
const serverTools: ReadonlySet<string> = new Set([
  'googleSearch',
  'googleSearchRetrieval',
  'codeExecution',
  'computerUse',
  'urlContext',
  'fileSearch',
  'googleMaps',
  'mcpServers',
])
/** Objects that the adapter has something to add to. */
const configs: ReadonlySet<string> = new Set(['generationConfig', 'toolConfig'])
/** What the adapter translates, or has no name for. */
const openAis: ReadonlySet<string> = new Set(['model', 'messages', 'stream', ...openAiParameters])

export type NativeFields = {
  readonly request: JsonObject
  readonly tools: readonly JsonObject[]
  readonly toolConfig: JsonObject
  readonly generationConfig: JsonObject
}

/**
 * A route's parameters under Gemini's own names, unchanged, each where the API has it. Names without another place are
 * settings of the generation.
 */
export function nativeFieldsOf(fields: ReadonlyMap<string, unknown>): NativeFields {
  const request: [string, unknown][] = []
  const tools: JsonObject[] = []
  const settings: [string, unknown][] = []
  for (const [name, value] of fields) {
    if (requestFields.has(name)) request.push([name, value])
    else if (serverTools.has(name)) tools.push({ [name]: value })
    else if (!configs.has(name) && !openAis.has(name)) settings.push([name, value])
  }
  return {
    request: Object.fromEntries(request),
    tools,
    toolConfig: fieldsOf(fields.get('toolConfig')) ?? {},
    generationConfig: { ...fieldsOf(fields.get('generationConfig')), ...Object.fromEntries(settings) },
  }
}
