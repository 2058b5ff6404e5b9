import type { QuirksName } from '#core/catalog/catalog-document'
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
type Work = { readonly prompt: number; readonly output: number; readonly usage?: object }
export type Way = {
  /** The request, but for its model. */
  readonly body: object
  /** Of the request as the provider was sent it. */
  readonly work: (sent: Readonly<Record<string, unknown>>, bytes: number) => Work
  /** Requests that are sent together. Default 1. */
  readonly atOnce?: number
  /** The kind of its provider. Default: unknown. */
  readonly quirks?: QuirksName
  /** How much more than what is paid a lying provider may have us pay, in ₽; honest ones: 1 %. */
  readonly lossRubMax?: number
}

const limitOf = (sent: Readonly<Record<string, unknown>>) =>
  Number(sent.max_tokens ?? sent.max_completion_tokens ?? 0)
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

/** Every way to get more than was held for it, each with 30 ₽. */
export const freeWays: Readonly<Record<string, Way>> = {
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
    quirks: 'vllm',
  },
  'vllm-beams': {
    body: { ...user('Hi'), use_beam_search: true, best_of: 64 },
    work: writing('best_of', 64 * 5),
    quirks: 'vllm',
  },
  'vllm-media': { body: user([image(), pdf]), work: reading(contextLength), quirks: 'vllm' },
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
