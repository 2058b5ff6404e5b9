import type { ProviderDocument } from '#core/catalog/catalog-document'
import { message, messageStream, streamedMessage, textBlock } from '../support/anthropic.ts'
import { geminiKey } from '../support/gemini.ts'
import {
  geminiChunk,
  geminiErrorBody,
  geminiEvent,
  geminiStream,
  geminiUsage,
  generated,
} from '../support/gemini-answers.ts'
import { gemini25Flash } from '../support/gemini-models.ts'
import { goodStream, plain, type Script, type Step, streamed } from '../support/upstream.ts'
import type { Api, End, ErrorFields, Lacks } from './fault-cases.ts'

/** What the faults are made of, as a provider of one API sends it. */
type Speech = {
  /** Of its provider, next to the address. */
  readonly headers: ProviderDocument['headers']
  /** How the names of its models begin. */
  readonly model: string
  readonly role: readonly Step[]
  readonly say: (text: string) => Step
  readonly end: (end: End) => readonly Step[]
  readonly done: readonly Step[]
  readonly signOfLife: Step
  readonly unknown: readonly Step[]
  readonly errorBody: (fields: ErrorFields, status: number) => object
  readonly errorEvent: (body: object) => Step
  readonly plain: (text: string | null, lacks: Lacks, fields: object) => Script
  readonly malformed: object
  /** A good answer in two pieces. */
  readonly streamed: (first: string, second: string) => Script
}

const event = (name: string, fields: object): Step => ({
  send: `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`,
})

const openAiSpeech: Speech = {
  headers: [],
  model: 'gpt-upstream',
  role: [goodStream.role],
  say: goodStream.say,
  end: ({ finish, usage }) => [
    ...(finish === undefined ? [] : [goodStream.finish(finish)]),
    ...(usage === undefined
      ? []
      : [usage === true ? goodStream.usage() : goodStream.usage(impossible.OpenAI)]),
  ],
  done: [goodStream.done],
  signOfLife: { send: ': PROCESSING\n\n' },
  unknown: [
    { event: { object: 'chat.completion.pulse', pulse: 1 } },
    goodStream.delta({ pulse: { beat: 1 } }),
  ],
  errorBody: (error) => ({ error }),
  errorEvent: (body) => ({ event: body }),
  plain(text, { finish, usage }, fields) {
    const choice = { index: 0, message: { role: 'assistant', content: text } }
    return plain(text ?? '', {
      ...(text === null ? { choices: [] } : {}),
      ...(finish === null ? { choices: [choice] } : {}),
      ...(usage === undefined ? {} : { usage: usage && impossible.OpenAI }),
      ...fields,
    })
  },
  malformed: {
    choices: [{ index: 0, message: { role: 'assistant', content: 5 }, finish_reason: 'stop' }],
  },
  streamed: (...pieces) => streamed(pieces),
}

/** Its names of errors (platform.claude.com, API reference, errors). */
const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}
const noCounts = {
  input_tokens: null,
  cache_creation_input_tokens: null,
  cache_read_input_tokens: null,
  output_tokens: null,
}

const anthropicSpeech: Speech = {
  headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
  model: 'claude-haiku-4-5',
  role: [messageStream.start(), messageStream.ping, messageStream.blockStart(0, textBlock(''))],
  say: (text) => messageStream.blockDelta(0, { type: 'text_delta', text }),
  end: ({ finish, usage }) => [
    messageStream.blockStop(0),
    messageStream.finish(
      'end_turn',
      usage === undefined ? noCounts : usage === true ? {} : impossible.Anthropic,
      finish === undefined ? { stop_reason: null } : {},
    ),
  ],
  done: [messageStream.stop],
  signOfLife: messageStream.ping,
  unknown: [
    event('message_pulse', { beat: 1 }),
    messageStream.blockStart(9, { type: 'pulse', beat: 1 }),
    messageStream.blockDelta(9, { type: 'pulse_delta', beat: 2 }),
    messageStream.blockStop(9),
  ],
  errorBody: ({ message: text }, status) => ({
    type: 'error',
    error: { type: anthropicTypes[status] ?? 'api_error', message: text },
    request_id: 'req_upstream',
  }),
  errorEvent: (body) => event('error', body),
  plain: (text, { finish, usage }, fields) =>
    message(text === null ? [] : [textBlock(text)], {
      ...(finish === null ? { stop_reason: null } : {}),
      ...(usage === undefined ? {} : { usage: usage && { ...impossible.Anthropic, output_tokens: 5 } }),
      ...fields,
    }),
  malformed: { type: 'message', role: 'assistant', content: 5, stop_reason: 'end_turn' },
  streamed: (first, second) => streamedMessage([textBlock(first + second)]),
}

/** https://cloud.google.com/apis/design/errors */
const geminiStatuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
}

const geminiSpeech: Speech = {
  headers: [{ name: 'x-goog-api-key', value: geminiKey }],
  model: gemini25Flash.id,
  role: [geminiEvent(geminiChunk.text(''))],
  say: (text) => geminiEvent(geminiChunk.text(text)),
  end({ finish, usage }) {
    const counts = usage === 'impossible' ? impossible.Gemini : geminiUsage
    const usageMetadata = usage === undefined ? undefined : counts
    const candidate = finish === undefined ? {} : { finishReason: 'STOP' }
    return [geminiEvent(geminiChunk.parts('', candidate, { usageMetadata }))]
  },
  done: [],
  signOfLife: { send: ': PROCESSING\r\n\r\n' },
  unknown: [
    geminiEvent(geminiChunk.parts([{ pulse: { beat: 1 } }], { pulse: 1 }, { pulse: 1 })),
    geminiEvent({ pulse: { beat: 1 } }),
  ],
  errorBody: ({ message: text }, status) =>
    geminiErrorBody(status === 529 ? 503 : status, geminiStatuses[status] ?? 'INTERNAL', text),
  errorEvent: geminiEvent,
  plain(text, { finish, usage }, fields) {
    const candidate = { content: { parts: [{ text }], role: 'model' }, index: 0 }
    return generated(text ?? '', {
      ...(text === null ? { candidates: [] } : {}),
      ...(finish === null ? { candidates: [candidate] } : {}),
      ...(usage === undefined ? {} : { usageMetadata: usage === null ? undefined : impossible.Gemini }),
      ...fields,
    })
  },
  malformed: [5],
  streamed: (first, second) =>
    geminiStream([geminiChunk.text(first), geminiChunk.text(second), geminiChunk.finish()]),
}

/** Usages that cannot be true. */
const impossible = {
  OpenAI: { prompt_tokens: -5, completion_tokens: 5, total_tokens: 0 },
  Anthropic: { input_tokens: -5 },
  Gemini: { ...geminiUsage, promptTokenCount: -5 },
} as const satisfies Readonly<Record<Api, object>>

export const speeches: Readonly<Record<Api, Speech>> = {
  OpenAI: openAiSpeech,
  Anthropic: anthropicSpeech,
  Gemini: geminiSpeech,
}
