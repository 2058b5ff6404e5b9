import type { ProviderKind } from '../abuse-case.ts'
import type { ClientApi } from './client-apis.ts'
import { usageOf } from './hostile-answers.ts'

/** 150 and 600 ₽ per 1M tokens. */
export const prices = { inputNano: 150_000n, outputNano: 600_000n }
export const contextLength = 128_000
const kib400 = 400 * 1024

const user = (content: unknown, fields: object = {}) => ({ messages: [{ role: 'user', content, ...fields }] })
const image = (detail: object = {}) => ({
  type: 'image_url',
  image_url: { url: 'https://example.com/a.png', ...detail },
})
const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUFB' } }

/** What a provider does with a request: how many tokens it reads and writes, and what it counts of them. */
type Work = { readonly prompt: number; readonly output: number; readonly usage?: ReturnType<typeof usageOf> }
export type Way = {
  /** The request, but for its model. */
  readonly body: object
  /** Of the request as the provider was sent it. */
  readonly work: (sent: Readonly<Record<string, unknown>>, bytes: number) => Work
  /** Requests that are sent together. Default 1. */
  readonly atOnce?: number
  /** The kind of its provider, whose API may be the client's own. Default: unknown, with OpenAI's chat completions. */
  readonly provider?: ProviderKind
  /** How much more than what is paid a lying provider may have us pay, in ₽; honest ones: 1 %. */
  readonly lossRubMax?: number
}

const limitOf = (sent: Readonly<Record<string, unknown>>) =>
  Number(sent.max_tokens ?? sent.max_completion_tokens ?? sent.max_output_tokens ?? 0)
/**
 * An honest provider of a byte-level model: in the worst case a token per byte, and never more output than requested.
 */
const byBytes: Way['work'] = (sent, bytes) => ({
  prompt: Math.min(bytes, contextLength),
  output: Math.min(5, limitOf(sent)),
})
/** One that reads so many tokens from elsewhere, where it was sent something to read. */
const reading =
  (tokens: number, isSent: (sent: Readonly<Record<string, unknown>>) => boolean = () => true): Way['work'] =>
  (sent, bytes) => ({ prompt: isSent(sent) ? tokens : bytes, output: Math.min(5, limitOf(sent)) })
/** A provider that writes as many tokens as its own parameter requests. */
const writing =
  (name: string, tokens: number): Way['work'] =>
  (sent, bytes) => ({ prompt: bytes, output: name in sent ? tokens : Math.min(5, limitOf(sent)) })

/** Ways of chat. */
const chatWays: Readonly<Record<string, Way>> = {
  'tool-call-id': {
    body: {
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'x'.repeat(kib400), content: 'x' },
      ],
    },
    work: byBytes,
  },
  'tool-calls-id': {
    body: {
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'x'.repeat(kib400), type: 'function', function: { name: 'f', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
    },
    work: byBytes,
  },
  'reasoning-details': {
    body: user('Hi', { reasoning_details: [{ type: 'reasoning.text', text: 'x'.repeat(kib400) }] }),
    work: byBytes,
  },
  documents: { body: user('Hi', { documents: [{ text: 'x'.repeat(kib400) }] }), work: byBytes },
  metadata: { body: { ...user('Hi'), metadata: { x: 'x'.repeat(kib400) } }, work: byBytes },
  stop: { body: { ...user('Hi'), stop: ['x'.repeat(kib400)] }, work: byBytes },
  unknown: { body: user('Hi', { anything: 'x'.repeat(kib400) }), work: byBytes },
  hangul: { body: user('뷁'.repeat(40_000)), work: byBytes },
  cyrillic: { body: user('ЪЫЩЁ'.repeat(20_000)), work: byBytes },
  base64: { body: user('qZ7+x/'.repeat(20_000)), work: byBytes },
  pdf: { body: user([pdf]), work: reading(100_000) },
  'pdfs-at-once': { body: user([pdf]), work: reading(100_000), atOnce: 20 },
  audio: {
    body: user([{ type: 'input_audio', input_audio: { data: 'QUFB', format: 'wav' } }]),
    work: reading(30_000),
  },
  video: {
    body: user([{ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }]),
    work: reading(100_000),
  },
  'file-id': { body: user([{ type: 'file', file: { file_id: 'file-1' } }]), work: reading(100_000) },
  image: { body: user([{ type: 'text', text: 'What is it?' }, image()]), work: reading(30_000) },
  'image-with-text': { body: user([{ ...image(), text: '' }]), work: reading(30_000) },
  'file-ids': { body: user('Hi', { file_ids: ['f'] }), work: reading(100_000) },
  search: {
    body: { ...user('Hi'), web_search_options: {} },
    work: reading(30_000, (sent) => 'web_search_options' in sent),
  },
  'server-tools': {
    body: { ...user('Hi'), tools: [{ type: 'web_search' }] },
    work: reading(30_000, (sent) => 'tools' in sent),
  },
  'data-sources': {
    body: { ...user('Hi'), data_sources: [{ type: 'azure_search', parameters: {} }] },
    work: reading(30_000, (sent) => 'data_sources' in sent),
  },
  deferred: { body: { ...user('Hi'), deferred: true }, work: writing('deferred', 30_000) },
  'other-limit': { body: { ...user('Hi'), n_predict: 30_000 }, work: writing('n_predict', 30_000) },
  'vllm-other-limit': {
    body: { ...user('Hi'), n_predict: 30_000, sampling_params: { max_new_tokens: 30_000 } },
    work: writing('n_predict', 30_000),
    provider: { quirks: 'vllm' },
  },
  'vllm-beams': {
    body: { ...user('Hi'), use_beam_search: true, best_of: 64 },
    work: writing('best_of', 64 * 5),
    provider: { quirks: 'vllm' },
  },
  'vllm-media': { body: user([image(), pdf]), work: reading(contextLength), provider: { quirks: 'vllm' } },
  prediction: {
    body: { ...user('Hi'), prediction: { type: 'content', content: 'x' } },
    work: writing('prediction', 19_990),
  },
  'lying-prompt': {
    body: user([image()]),
    work: () => ({ prompt: contextLength, output: 5, usage: usageOf(180_000, 5) }),
  },
  'lying-output': {
    body: user('Hi'),
    // Twice the limit and 64 tokens, and what comes between two looks, until it is noticed.
    work: () => ({ prompt: 10, output: 3_000 }),
    lossRubMax: 3,
  },
  'lying-zero-prompt': {
    body: user('Hi'),
    work: () => ({ prompt: 2, output: 5, usage: usageOf(0, 5) }),
  },
  'lying-zero': { body: user('Hi'), work: () => ({ prompt: 2, output: 5, usage: usageOf(0, 0) }) },
}

const long = 'x'.repeat(kib400)
const said = (content: unknown) => [{ role: 'user', content }]
const isIn = (text: string) => (sent: Readonly<Record<string, unknown>>) =>
  JSON.stringify(sent).includes(text)
const ownOpenAi: ProviderKind = { quirks: 'openai' }
const ownAnthropic: ProviderKind = { api: 'Anthropic' }

/** Ways of Responses that are tried translated and relayed. */
const responsesEverywhere = {
  'unknown-item': { body: { input: [{ type: 'x_item', text: long }, ...said('Hi')] }, work: byBytes },
  'file-id': {
    body: { input: said([{ type: 'input_file', file_id: 'file-1' }]) },
    work: reading(100_000),
  },
  search: {
    body: { input: 'Hi', tools: [{ type: 'web_search' }] },
    work: reading(30_000, isIn('web_search')),
  },
} satisfies Readonly<Record<string, Way>>

/** Ways of Responses, translated and then relayed. */
const responsesWays: Readonly<Record<string, Way>> = {
  ...responsesEverywhere,
  'call-id': {
    body: {
      input: [
        { type: 'function_call', call_id: long, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: long, output: 'x' },
      ],
    },
    work: byBytes,
  },
  reasoning: {
    body: { input: [{ type: 'reasoning', encrypted_content: long, summary: [] }, ...said('Hi')] },
    work: byBytes,
  },
  instructions: { body: { input: 'Hi', instructions: '뷁'.repeat(40_000) }, work: byBytes },
  'added-tools': {
    body: {
      input: [
        {
          type: 'additional_tools',
          tools: [{ type: 'function', name: 'f', description: 'qZ7+x/'.repeat(20_000) }],
        },
        ...said('Hi'),
      ],
    },
    work: byBytes,
  },
  'file-url': {
    body: { input: said([{ type: 'input_file', file_url: 'https://example.com/a.pdf' }]) },
    work: reading(100_000),
  },
  'own-unknown': { body: { input: 'Hi', x_field: long }, work: byBytes, provider: ownOpenAi },
  'own-item': { ...responsesEverywhere['unknown-item'], provider: ownOpenAi },
  'own-file-id': { ...responsesEverywhere['file-id'], provider: ownOpenAi },
  'own-prompt': {
    body: { input: 'Hi', prompt: { id: 'pmpt_1' } },
    work: reading(100_000, isIn('pmpt_1')),
    provider: ownOpenAi,
  },
  'own-reference': {
    body: { input: [{ type: 'item_reference', id: 'x_1' }, ...said('Hi')] },
    work: reading(100_000, isIn('item_reference')),
    provider: ownOpenAi,
  },
  'own-search': { ...responsesEverywhere.search, provider: ownOpenAi },
  'own-mcp': {
    body: { input: 'Hi', tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }] },
    work: reading(30_000, isIn('"mcp"')),
    provider: ownOpenAi,
  },
  'own-lying-output': {
    body: { input: 'Hi' },
    work: () => ({ prompt: 10, output: 3_000 }),
    provider: ownOpenAi,
    lossRubMax: 3,
  },
}

/** Ways of Messages that are tried translated and relayed. */
const messagesEverywhere = {
  'unknown-block': {
    body: {
      messages: said([
        { type: 'text', text: 'Hi' },
        { type: 'x_block', text: long },
      ]),
    },
    work: byBytes,
  },
  pdf: {
    body: {
      messages: said([
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUFB' } },
      ]),
    },
    work: reading(100_000),
  },
  search: {
    body: { messages: said('Hi'), tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    work: reading(30_000, isIn('web_search')),
  },
} satisfies Readonly<Record<string, Way>>

/** Ways of Messages, translated and then relayed. */
const messagesWays: Readonly<Record<string, Way>> = {
  ...messagesEverywhere,
  'call-id': {
    body: {
      messages: [
        ...said('Hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: long, name: 'f', input: {} }] },
        ...said([{ type: 'tool_result', tool_use_id: long, content: 'x' }]),
      ],
    },
    work: byBytes,
  },
  thinking: {
    body: {
      messages: [
        ...said('Hi'),
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: long }] },
        ...said('Hi'),
      ],
    },
    work: byBytes,
  },
  system: {
    body: { messages: said('Hi'), system: [{ type: 'text', text: '뷁'.repeat(40_000) }] },
    work: byBytes,
  },
  'most-tokens': {
    body: { messages: said('Hi'), max_tokens: 128_000 },
    work: (sent, bytes) => ({ prompt: bytes, output: limitOf(sent) }),
  },
  'pdf-url': {
    body: {
      messages: said([{ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }]),
    },
    work: reading(100_000, isIn('a.pdf')),
  },
  'own-unknown': { body: { messages: said('Hi'), x_field: long }, work: byBytes, provider: ownAnthropic },
  'own-block': { ...messagesEverywhere['unknown-block'], provider: ownAnthropic },
  'own-pdf': { ...messagesEverywhere.pdf, provider: ownAnthropic },
  'own-file': {
    body: { messages: said([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }]) },
    work: reading(100_000),
    provider: ownAnthropic,
  },
  'own-search': { ...messagesEverywhere.search, provider: ownAnthropic },
  'own-mcp': {
    body: {
      messages: said('Hi'),
      mcp_servers: [{ type: 'url', name: 'a', url: 'https://example.com' }],
      container: 'c',
    },
    work: reading(30_000, (sent) => 'mcp_servers' in sent || 'container' in sent),
    provider: ownAnthropic,
  },
  'own-speed': {
    body: { messages: said('Hi'), speed: 'fast', service_tier: 'auto', inference_geo: 'us' },
    work: reading(30_000, (sent) => 'speed' in sent || 'inference_geo' in sent),
    provider: ownAnthropic,
  },
  'own-hour': {
    body: {
      messages: said([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }]),
    },
    work: reading(30_000, isIn('"1h"')),
    provider: ownAnthropic,
  },
  'own-most-tokens': {
    body: { messages: said('Hi'), max_tokens: 128_000 },
    work: (sent, bytes) => ({ prompt: bytes, output: limitOf(sent) }),
    provider: ownAnthropic,
  },
  'own-lying-output': {
    body: { messages: said('Hi') },
    work: () => ({ prompt: 10, output: 3_000 }),
    provider: ownAnthropic,
    lossRubMax: 3,
  },
}

/** Every way to get more than was held for it, each with 30 ₽, in each API of clients. */
export const freeWays: Readonly<Record<ClientApi, Readonly<Record<string, Way>>>> = {
  chat: chatWays,
  responses: responsesWays,
  messages: messagesWays,
}
