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
import { messageItem, responseObject, usageOf } from '../support/openai-responses.ts'
import { goodStream, plain, type Script, type Step, streamed, streamHeaders } from '../support/upstream.ts'
import type { End, ErrorFields, FaultyApi, Lacks, Miscount } from './fault-cases.ts'

/** What the faults are made of, as a provider of one API sends it. */
type Speech = {
  /** Of its provider. */
  readonly api: ProviderDocument['api']
  readonly quirks?: ProviderDocument['quirks']
  /** Of its provider, next to the address. */
  readonly headers: ProviderDocument['headers']
  /** How the names of its models begin. */
  readonly model: string
  readonly role: readonly Step[]
  readonly say: (text: string) => Step
  /** `said`: in the stream before it. */
  readonly end: (end: End, said: string) => readonly Step[]
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
  api: 'OpenAI',
  headers: [],
  model: 'gpt-upstream',
  role: [goodStream.role],
  say: goodStream.say,
  end: ({ finish, usage }) => [
    ...(finish === undefined ? [] : [goodStream.finish(finish)]),
    ...(usage === undefined
      ? []
      : [usage === true ? goodStream.usage() : goodStream.usage(miscounts[usage].OpenAI)]),
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
      ...(usage === undefined ? {} : { usage: usage && miscounts[usage].OpenAI }),
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
  api: 'Anthropic',
  headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
  model: 'claude-haiku-4-5',
  role: [messageStream.start(), messageStream.ping, messageStream.blockStart(0, textBlock(''))],
  say: (text) => messageStream.blockDelta(0, { type: 'text_delta', text }),
  end: ({ finish, usage }) => [
    messageStream.blockStop(0),
    messageStream.finish(
      'end_turn',
      usage === undefined ? noCounts : usage === true ? {} : miscounts[usage].Anthropic,
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
      ...(usage === undefined ? {} : { usage: usage && miscounts[usage].Anthropic }),
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
  api: 'Gemini',
  headers: [{ name: 'x-goog-api-key', value: geminiKey }],
  model: gemini25Flash.id,
  role: [geminiEvent(geminiChunk.text(''))],
  say: (text) => geminiEvent(geminiChunk.text(text)),
  end({ finish, usage }) {
    const usageMetadata = usage === true ? geminiUsage : usage && miscounts[usage].Gemini
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
      ...(usage === undefined ? {} : { usageMetadata: usage === null ? undefined : miscounts[usage].Gemini }),
      ...fields,
    })
  },
  malformed: [5],
  streamed: (first, second) =>
    geminiStream([geminiChunk.text(first), geminiChunk.text(second), geminiChunk.finish()]),
}

/** The response object and the places of its only item, as a client checks them where they are relayed. */
const asked = { model: 'gpt-5-codex', max_output_tokens: null }
const begun = responseObject(asked, { status: 'in_progress', completed_at: null })
const itemPlace = { item_id: messageItem('').id, output_index: 0 }
const textPlace = { ...itemPlace, content_index: 0 }
const partOf = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })
const numbered = (name: string, fields: object) => event(name, { sequence_number: 0, ...fields })

/** OpenAI's Responses API, in which a response ends with its finish and its counts together. */
const responsesSpeech: Speech = {
  api: 'OpenAI',
  quirks: 'openai-responses',
  headers: [],
  model: 'gpt-5-codex',
  role: [
    numbered('response.created', { response: begun }),
    numbered('response.output_item.added', {
      output_index: 0,
      item: { ...messageItem(''), status: 'in_progress', content: [] },
    }),
    numbered('response.content_part.added', { ...textPlace, part: partOf('') }),
  ],
  say: (delta) => numbered('response.output_text.delta', { ...textPlace, delta, logprobs: [] }),
  end: ({ finish, usage }, said) =>
    finish === undefined
      ? []
      : [
          numbered('response.output_text.done', { ...textPlace, text: said, logprobs: [] }),
          numbered('response.content_part.done', { ...textPlace, part: partOf(said) }),
          numbered('response.output_item.done', { output_index: 0, item: messageItem(said) }),
          numbered('response.completed', {
            response: responseObject(asked, { output: [messageItem(said)], ...countsOf(usage) }),
          }),
        ],
  done: [],
  signOfLife: numbered('keepalive', {}),
  unknown: [
    numbered('response.pulse', { beat: 1 }),
    numbered('response.output_item.added', { output_index: 9, item: { type: 'pulse', id: 'p_1' } }),
    numbered('response.output_item.done', { output_index: 9, item: { type: 'pulse', id: 'p_1', beat: 2 } }),
  ],
  errorBody: (error) => ({ error }),
  errorEvent: (body) => event('error', body),
  plain: (text, { usage }, fields) => {
    const counts = countsOf(usage === undefined ? true : (usage ?? undefined))
    const output = text === null ? [] : [messageItem(text)]
    return { steps: [{ send: JSON.stringify(responseObject(asked, { output, ...counts, ...fields })) }] }
  },
  malformed: { object: 'response', status: 'completed', output: 5 },
  streamed: (first, second) => ({
    headers: streamHeaders,
    steps: [
      ...responsesSpeech.role,
      responsesSpeech.say(first),
      responsesSpeech.say(second),
      ...responsesSpeech.end({ finish: 'stop', usage: true }, first + second),
    ],
  }),
}

function countsOf(usage: End['usage']): object {
  if (usage === undefined) return {}
  return { usage: usage === true ? usageOf() : miscounts[usage].Responses }
}

/** Counts of a prompt and of output, as each API has them. */
const countsAs = (prompt: number, output: number): Readonly<Record<FaultyApi, object>> => ({
  OpenAI: { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output },
  Anthropic: { input_tokens: prompt, output_tokens: output },
  Gemini: { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output },
  Responses: { ...usageOf(), input_tokens: prompt, output_tokens: output, total_tokens: prompt + output },
})

const miscounts: Readonly<Record<Miscount, Readonly<Record<FaultyApi, object>>>> = {
  impossible: countsAs(-5, 5),
  'beyond the limit': countsAs(10, 5_000),
  'beyond the prompt': countsAs(100_000, 5),
}

export const speeches: Readonly<Record<FaultyApi, Speech>> = {
  OpenAI: openAiSpeech,
  Anthropic: anthropicSpeech,
  Gemini: geminiSpeech,
  Responses: responsesSpeech,
}
