import { expect } from 'vitest'
import { providerDocumentSchema } from '#core/catalog/catalog-document'
import { chatFormat } from '#gateway/formats/chat-format'
import { parseChatRequest } from '#gateway/requests/chat-request'
import { adaptChatRequest, findDropped } from '#gateway/upstream/chat-request'
import { createDialect, kindHeadersOf } from '#gateway/upstream/dialect'
import { type ChatReading, type FetchImage, isFailure } from '#gateway/upstream/provider-adapter'
import { findExactJson } from '#gateway/wire/json-fields'
import { anthropicApi } from '../support/anthropic.ts'
import { geminiApi, geminiKey } from '../support/gemini.ts'
import { png } from '../support/gemini-requests.ts'
import { responsesApi } from '../support/openai-responses.ts'
import type { ProviderApi } from '../support/upstream.ts'
import { type AdapterCase, adapterCases, type Fields, type Mode } from './adapter-cases.ts'
import { answerSchemaOf } from './answer-schema.ts'
import { type ReadChoice, readWhole } from './read-choices.ts'
import { playStream, playWhole } from './stream-play.ts'

/** A provider whose API is not chat completions: its cases, and its differences on the wire. */
export type NativeProvider = ReturnType<typeof adapterCases> & {
  /** The scripted server, which rejects what the original rejects. */
  readonly api: ProviderApi
  readonly headers: Readonly<Record<string, string>>
  /** The parts of a body that are not in `sent`. */
  readonly everywhere: (model: string, mode: Mode) => Fields
  readonly frameOf: (event: Fields) => string
}

export const nativeProviders: readonly NativeProvider[] = [
  {
    ...adapterCases('anthropic', 'anthropic'),
    api: anthropicApi,
    headers: { 'x-api-key': 'of-these-cases' },
    everywhere: (model, mode) => ({
      model,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      stream: mode === 'stream',
    }),
    frameOf: (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  },
  {
    ...adapterCases('gemini', 'gemini-native'),
    api: geminiApi,
    headers: { 'x-goog-api-key': geminiKey },
    everywhere: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
    frameOf: (event) => `data: ${JSON.stringify(event)}\r\n\r\n`,
  },
  {
    ...adapterCases('responses', 'openai-responses'),
    api: responsesApi,
    headers: { authorization: 'Bearer of-these-cases' },
    everywhere: (model, mode) => ({
      model,
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      store: false,
      stream: mode === 'stream',
    }),
    frameOf: (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  },
]

const answerSchema = answerSchemaOf('CreateChatCompletionResponse')
const origin = 'mark'
const hi = { role: 'user', content: 'Hi' }
const fetchImage: FetchImage = async () => ({ mediaType: 'image/png', base64: png })

type Written = {
  /** As the provider parses it, but with every digit of its numbers. */
  readonly body: unknown
  readonly dropped: readonly string[]
  /** The provider's words, if it rejects the body. */
  readonly fault: string | undefined
  readonly reading: ChatReading
}

/** The request of a case as it is sent, and as the provider takes it. */
export async function writeCase(
  { kind, provider, api, headers }: NativeProvider,
  { model, route, request, outputLimit }: Pick<AdapterCase, 'model' | 'request' | 'route' | 'outputLimit'>,
  mode: Mode,
): Promise<Written> {
  const document = providerDocumentSchema.parse({
    name: kind,
    auth: { type: 'None' },
    headers: [],
    ...provider,
  })
  const rules = { drop: [], rename: {}, defaults: {} }
  const dialect = createDialect(document, model, {
    model: `any/${model}`,
    type: 'chat',
    parameters: rules,
    maxOutputTokens: null,
    ...route,
  })
  const body = {
    model: 'any/model',
    messages: [hi],
    ...request,
    ...(mode === 'stream' ? { stream: true } : {}),
  }
  expect(parseChatRequest(body), 'a caller may send it').not.toHaveProperty('refusal')
  const written = adaptChatRequest({
    body,
    mode,
    dialect,
    outputLimit: outputLimit ?? null,
    bodyBytes: 0,
    unmarked: 'kept',
    fetchImage,
  })
  expect(findDropped(body, dialect), 'a strict request knows it before it is sent').toEqual(written.dropped)
  const call = await written.call
  if (isFailure(call)) throw new Error(call.message ?? call.result)
  const text = JSON.stringify(call.json)
  const path = dialect.urls[mode].slice(new URL(provider.baseUrl).origin.length)
  const head = {
    method: 'POST',
    path,
    headers: { ...kindHeadersOf(document), ...headers },
    body: JSON.parse(text),
  }
  return {
    body: findExactJson(text),
    dropped: written.dropped,
    fault: api.faultOf(head)?.message,
    reading: call,
  }
}

type Read = { readonly choices: readonly ReadChoice[]; readonly usage: unknown }

/** What the client reads of a whole response, which matches OpenAI's schema. */
export function readWholeAnswer(reading: ChatReading, given: Fields): Read {
  const { answer, shown, usage } = playWhole(reading, given, chatFormat, { origin })
  expect(answerSchema.safeParse(shown).error).toBeUndefined()
  return { choices: readWhole(JSON.parse(JSON.stringify(answer.choices))), usage }
}

/** What the client is sent of a provider's bytes that come in these pieces. */
export function playChat({ createEventReader }: ChatReading, choices: number, pieces: readonly Buffer[]) {
  return playStream({ reader: createEventReader(), format: chatFormat, origin, choices }, pieces)
}
