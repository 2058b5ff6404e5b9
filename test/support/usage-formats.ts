import type { ProviderDocument } from '#core/catalog/catalog-document'
import type { TokenClasses } from '#core/ledger/price'
import { anthropicApi, message, messageStream, textBlock } from './anthropic.ts'
import { geminiApi, geminiKey } from './gemini.ts'
import { geminiEvent, generated } from './gemini-answers.ts'
import { messageItem, responsesApi } from './openai-responses.ts'
import { goodStream, openAi, type ProviderApi, plain, type Script, type Step } from './upstream.ts'

/** An API in which a provider counts tokens. */
export type UsageFormat = {
  /** Of the format. */
  readonly name: string
  readonly api: ProviderDocument['api']
  readonly quirks?: ProviderDocument['quirks']
  readonly server: ProviderApi
  readonly headers: ProviderDocument['headers']
  /** A model of the scripted server. */
  readonly modelId: string
  /** The counts, as the provider reports them. */
  readonly usageOf: (tokens: TokenClasses) => object
  /** A whole response; `undefined`: without usage. */
  readonly whole: (text: string, usage: object | undefined) => Script
  readonly begin: (usage: object | undefined) => readonly Step[]
  readonly say: (text: string) => Step
  readonly end: (usage: object | undefined) => readonly Step[]
}

const openAiFormat: UsageFormat = {
  name: 'OpenAI',
  api: 'OpenAI',
  server: openAi,
  headers: [],
  modelId: 'gpt-4o',
  usageOf: ({ input, cachedInput, cacheWrite, output, reasoning }) => ({
    prompt_tokens: input + cachedInput + cacheWrite,
    completion_tokens: output + reasoning,
    total_tokens: input + cachedInput + cacheWrite + output + reasoning,
    prompt_tokens_details: { cached_tokens: cachedInput, cache_write_tokens: cacheWrite },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }),
  whole: (text, usage) => plain(text, { usage }),
  begin: () => [goodStream.role],
  say: goodStream.say,
  end: (usage) => [
    goodStream.finish(),
    ...(usage === undefined ? [] : [goodStream.usage(usage)]),
    goodStream.done,
  ],
}

/** None of the counts that a script has where it defines none. */
const uncounted = {
  input_tokens: undefined,
  cache_creation_input_tokens: undefined,
  cache_read_input_tokens: undefined,
  output_tokens: undefined,
}

const anthropicFormat: UsageFormat = {
  name: 'Anthropic',
  api: 'Anthropic',
  server: anthropicApi,
  headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
  modelId: 'claude-haiku-4-5',
  usageOf: ({ input, cachedInput, cacheWrite, output, reasoning }) => ({
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cachedInput,
    output_tokens: output + reasoning,
    output_tokens_details: { thinking_tokens: reasoning },
  }),
  whole: (text, usage) => message([textBlock(text)], { usage }),
  // The count of the output goes up; what it is in the beginning is no bill.
  begin: (usage) => [
    messageStream.start({
      usage: usage === undefined ? undefined : { ...usage, output_tokens: 1, output_tokens_details: null },
    }),
    messageStream.blockStart(0, textBlock('')),
  ],
  say: (text) => messageStream.blockDelta(0, { type: 'text_delta', text }),
  end: (usage) => [
    messageStream.blockStop(0),
    messageStream.finish('end_turn', usage ?? uncounted),
    messageStream.stop,
  ],
}

const geminiFormat: UsageFormat = {
  name: 'Gemini',
  api: 'Gemini',
  server: geminiApi,
  headers: [{ name: 'x-goog-api-key', value: geminiKey }],
  modelId: 'gemini-2.5-flash',
  usageOf: ({ input, cachedInput, output, reasoning }) => ({
    promptTokenCount: input + cachedInput,
    cachedContentTokenCount: cachedInput,
    candidatesTokenCount: output,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + cachedInput + output + reasoning,
  }),
  whole: (text, usage) => generated(text, { usageMetadata: usage }),
  begin: (usage) => [
    geminiEvent({ usageMetadata: usage === undefined ? undefined : { ...usage, candidatesTokenCount: 1 } }),
  ],
  say: (text) => geminiEvent({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] }),
  end: (usage) => [geminiEvent({ candidates: [{ finishReason: 'STOP', index: 0 }], usageMetadata: usage })],
}

const frame = (type: string, fields: object): Step => ({
  send: `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`,
})
const item = { type: 'message', id: 'msg_own', role: 'assistant' }

/** Translated for chats, relayed for clients of the same API. */
const responsesFormat: UsageFormat = {
  name: "OpenAI's Responses",
  api: 'OpenAI',
  quirks: 'openai',
  server: responsesApi,
  headers: [],
  modelId: 'gpt-5-codex',
  usageOf: ({ input, cachedInput, cacheWrite, output, reasoning }) => ({
    input_tokens: input + cachedInput + cacheWrite,
    input_tokens_details: { cached_tokens: cachedInput, cache_write_tokens: cacheWrite },
    output_tokens: output + reasoning,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + cachedInput + cacheWrite + output + reasoning,
  }),
  whole: (text, usage) => ({
    steps: [{ send: JSON.stringify({ status: 'completed', output: [messageItem(text)], usage }) }],
  }),
  begin: () => [
    frame('response.created', { response: { status: 'in_progress', output: [] } }),
    frame('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
  ],
  say: (delta) =>
    frame('response.output_text.delta', { item_id: item.id, output_index: 0, content_index: 0, delta }),
  end: (usage) => [frame('response.completed', { response: { status: 'completed', output: [], usage } })],
}

export const usageFormats: readonly UsageFormat[] = [
  openAiFormat,
  anthropicFormat,
  geminiFormat,
  responsesFormat,
]
