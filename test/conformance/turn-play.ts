import { expect } from 'vitest'
import { type ProviderDocument, providerDocumentSchema } from '#core/catalog/catalog-document'
import type { ApiFormat } from '#gateway/formats/api-format'
import type { ChatRequest } from '#gateway/requests/chat-request'
import { decryptReasoning } from '#gateway/signatures/decrypt-reasoning'
import { adaptChatRequest } from '#gateway/upstream/chat-request'
import { createDialect, kindHeadersOf } from '#gateway/upstream/dialect'
import { type ChatReading, isFailure } from '#gateway/upstream/provider-adapter'
import { resultOf } from '#gateway/wire/result-of.fixture'
import { anthropicApi, message, messageStream, streamed, streamedMessage } from '../support/anthropic.ts'
import { geminiApi, geminiKey } from '../support/gemini.ts'
import { geminiChunk, geminiStream, generated } from '../support/gemini-answers.ts'
import { goodStream, openAi, type ProviderApi, plain, type Script, type Step } from '../support/upstream.ts'
import type { Mode } from './adapter-cases.ts'
import type { Api } from './fault-cases.ts'
import type { Said } from './turn-cases.ts'

type Fields = { readonly [field: string]: unknown }

/** A backend of one API: its scripted server, and how a response of its model is written. */
type Speaker = {
  readonly api: ProviderApi
  readonly baseUrl: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  readonly whole: (said: Said) => Script
  readonly streamed: (said: Said) => Script
}

const speakers: Readonly<Record<Api, Speaker>> = {
  OpenAI: {
    api: openAi,
    baseUrl: 'https://api.example/v1',
    model: 'gpt-4o',
    headers: {},
    whole({ words, end = 'stop' }) {
      const said = { role: 'assistant', content: null, ...(words as Fields) }
      return plain('', { choices: [{ index: 0, message: said, finish_reason: end }] })
    },
    streamed: ({ words, end = 'stop' }) => ({
      steps: [
        goodStream.role,
        ...Object.entries(words as Fields).flatMap(deltasOf),
        goodStream.finish(end),
        goodStream.usage(),
        goodStream.done,
      ],
    }),
  },
  Anthropic: {
    api: anthropicApi,
    baseUrl: 'https://api.anthropic.com/v1',
    model: 'claude-haiku-4-5',
    headers: { 'x-api-key': 'of-these-cases' },
    whole: ({ words, end }) => message(words as never, end === undefined ? {} : stoppedBy(end)),
    streamed({ words, end }) {
      if (end !== 'refusal')
        return streamedMessage(words as never, end === undefined ? {} : { stopReason: end })
      return streamed([
        messageStream.start(),
        messageStream.finish(end, {}, stoppedBy(end)),
        messageStream.stop,
      ])
    },
  },
  Gemini: {
    api: geminiApi,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    model: 'gemini-3-pro-preview',
    headers: { 'x-goog-api-key': geminiKey },
    whole: ({ words, end = 'STOP' }) =>
      generated('', {
        candidates: [{ content: { parts: words, role: 'model' }, finishReason: end, index: 0 }],
      }),
    streamed: ({ words, end }) =>
      geminiStream([
        ...(words as object[]).map((part) => geminiChunk.parts([part])),
        geminiChunk.finish(end),
      ]),
  },
}

function stoppedBy(end: string): object {
  const details = { type: 'refusal', explanation: 'I cannot.' }
  return { stop_reason: end, ...(end === 'refusal' ? { stop_details: details } : {}) }
}

/** The pieces of one field of OpenAI's message: texts and arguments in two halves. */
function deltasOf([field, value]: readonly [string, unknown]): readonly Step[] {
  if (typeof value === 'string') return halvesOf(value).map((half) => goodStream.delta({ [field]: half }))
  if (field !== 'tool_calls') return [goodStream.delta({ [field]: value })]
  return (value as Fields[]).flatMap((call, index) => {
    const { name, arguments: written } = call.function as { name: string; arguments: string }
    const [first, second] = halvesOf(written)
    const begun = { ...call, index, function: { name, arguments: first } }
    return [begun, { index, function: { arguments: second } }].map((part) =>
      goodStream.delta({ tool_calls: [part] }),
    )
  })
}

function halvesOf(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** The bytes of a provider's response. */
export function spokenBytes(api: Api, mode: Mode, said: Said): Buffer {
  const script = mode === 'plain' ? speakers[api].whole(said) : speakers[api].streamed(said)
  return Buffer.concat((script.steps ?? []).map(bytesOf))
}

function bytesOf(step: Step): Buffer {
  if ('send' in step) return Buffer.from(step.send)
  if (!('event' in step)) throw new Error('it only speaks')
  return Buffer.from(`data: ${typeof step.event === 'string' ? step.event : JSON.stringify(step.event)}\n\n`)
}

/** A request of a client of one of the gateway's APIs, as a chat. */
export type AskedChat = {
  readonly request: ChatRequest
  /** Names. */
  readonly dropped: readonly string[]
  /** The format of one response. */
  readonly createFormat: () => ApiFormat
}

/** A request as it is sent to the provider, and how its response is read. */
export type SentRequest = {
  readonly body: Fields
  readonly dropped: readonly string[]
  readonly reading: ChatReading
  /** The mark of the provider. */
  readonly origin: string
  readonly createFormat: AskedChat['createFormat']
}

/** Stands for the encryption: the secrets are readable. */
export const encrypt = (signed: object) => Buffer.from(JSON.stringify(signed)).toString('base64')
const decrypt = (encrypted: string) => JSON.parse(Buffer.from(encrypted, 'base64').toString())

/** Sends a chat to the scripted provider, which takes it. */
export function sendRequest(api: Api, mode: Mode, asked: AskedChat): SentRequest {
  const { dialect, document } = dialectOf(api)
  const { request } = resultOf(decryptReasoning(asked.request, decrypt))
  const { call, dropped } = adaptChatRequest({
    body: request,
    mode,
    dialect,
    outputLimit: null,
    bodyBytes: 0,
    unmarked: 'kept',
    fetchImage: () => expect.fail('no image is fetched'),
  })
  if (call instanceof Promise || isFailure(call)) throw new Error('it was not written at once')
  const body: Fields = JSON.parse(JSON.stringify(call.json))
  const path = dialect.urls[mode].slice(new URL(document.baseUrl).origin.length)
  const headers = { ...kindHeadersOf(document), ...speakers[api].headers }
  expect(speakers[api].api.faultOf({ method: 'POST', path, headers, body })?.message).toBeUndefined()
  return {
    body,
    dropped: [...asked.dropped, ...dropped],
    reading: call,
    origin: dialect.origin,
    createFormat: asked.createFormat,
  }
}

function dialectOf(api: Api) {
  const { model, baseUrl } = speakers[api]
  const document: ProviderDocument = providerDocumentSchema.parse({
    name: 'provider',
    api,
    baseUrl,
    auth: { type: 'None' },
    headers: [],
  })
  const parameters = { drop: [], rename: {}, defaults: {} }
  const route = { model: 'a/model', type: 'chat', parameters, maxOutputTokens: null } as const
  return { document, dialect: createDialect(document, model, route) }
}
