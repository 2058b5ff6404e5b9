import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { providerDocumentSchema, quirksNames, type RouteDocument } from '#core/catalog/catalog-document'
import { readUsage } from '#gateway/exchange/usage'
import { chatFormat } from '#gateway/formats/chat-format'
import { parseChatRequest } from '#gateway/requests/chat-request'
import { adaptChatRequest, findDropped } from '#gateway/upstream/chat-request'
import { createDialect, kindOf } from '#gateway/upstream/dialect'
import { adaptEmbeddingRequest, findDroppedOfEmbedding } from '#gateway/upstream/embedding-request'
import { failureOfErrorBody, failureOfStatus } from '#gateway/upstream/failure'
import { type ChatReading, isFailure } from '#gateway/upstream/provider-adapter'
import { answerSchemaOf } from './answer-schema.ts'
import { chunksOf } from './read-choices.ts'
import { playStream, playWhole } from './stream-play.ts'

/** One provider as it documents itself: what we send it, and what we make of what it answers. */
type Recorded = {
  readonly kind: string
  readonly provider: { readonly api: string; readonly baseUrl: string; readonly [field: string]: unknown }
  readonly requests: readonly {
    readonly name: string
    /** The backend's name of the model, and of its route if that has more parts. */
    readonly model: string
    readonly route?: Partial<Pick<RouteDocument, 'model' | 'type' | 'parameters' | 'maxOutputTokens'>>
    /** Without `messages`: a request with the message `Hi`. */
    readonly request: { readonly [field: string]: unknown }
    readonly url?: string
    /** The whole body, but for what is the same in every body of that API (`everywhere`). */
    readonly sent: object
    readonly dropped?: readonly string[]
  }[]
  readonly answers: readonly {
    readonly name: string
    readonly answer?: object
    readonly events?: readonly (object | string)[]
    /** Of a non-streaming response: its choices. Of a stream: the choice of each chunk. Each but for its index. */
    readonly client: readonly object[]
    readonly tokens: object | 'missing'
  }[]
  readonly failures: readonly {
    readonly name: string
    /** 200: an error inside a stream. */
    readonly status: number
    readonly headers?: Record<string, string>
    readonly body: object | string
    readonly failure: object
  }[]
}

const folder = join(import.meta.dirname, 'cases/providers')
const recorded: readonly Recorded[] = readdirSync(folder).map((file) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
)
const answerSchema = answerSchemaOf('CreateChatCompletionResponse')
const chunkSchema = answerSchemaOf('CreateChatCompletionStreamResponse')
const nowMs = Date.UTC(2026, 10, 21)

test('every kind of provider has recorded cases', () => {
  expect(recorded.map(({ kind }) => kind).toSorted()).toEqual(quirksNames.toSorted())
})

describe.each(recorded)('$kind', ({ kind, provider, requests, answers, failures }) => {
  const document = providerDocumentSchema.parse({
    name: kind,
    auth: { type: 'None' },
    headers: [],
    ...provider,
  })
  const reading = readingOf(createDialect(document, 'a-model', untouched))

  test('is known by its address or its api, unless it is named', () => {
    expect(kindOf(document)).toBe(kind)
  })

  test.each(requests)('is sent: $name', ({ model, route, request, url, sent, dropped = [] }) => {
    const dialect = createDialect(document, model, {
      ...untouched,
      model: `any/${model}`,
      ...route,
    })
    const { body, written, json } =
      dialect.type === 'chat' ? writeChat(request, dialect) : writeEmbedding(request, dialect)
    const common = (everywhere[kind] ?? everywhere[document.api] ?? everywhereAtOpenAi)[dialect.type]
    expect(JSON.parse(JSON.stringify(json))).toEqual({ ...common(model), ...sent })
    expect(written.dropped).toEqual(dropped)
    expect(body.now, 'the canonical request stays as it is').toBe(body.before)
    if (url !== undefined) expect(dialect.urls.plain).toBe(url)
  })

  test.each(answers)('is read: $name', ({ answer, events, client, tokens }) => {
    const read = events === undefined ? readPlain(reading, answer) : readStream(reading, events)
    expect(read.choices).toEqual(client.map((choice) => expect.objectContaining({ index: 0, ...choice })))
    const usage = readUsage(read.usage)
    if (tokens === 'missing') expect(usage.kind).toBe('missing')
    else expect(usage).toMatchObject({ kind: 'reported', tokens })
  })

  test.each(failures)('fails: $name', ({ status, headers = {}, body, failure }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const found =
      status === 200
        ? failureOfErrorBody(body, 'error_event')
        : failureOfStatus({ status, headers, body: text, nowMs })
    expect(found).toMatchObject(failure)
  })
})

const untouched: Parameters<typeof createDialect>[2] = {
  model: 'any/model',
  type: 'chat',
  parameters: { drop: [], rename: {}, defaults: {} },
  maxOutputTokens: null,
}

const fetchImage = () => expect.fail('it has no image')

/** How the adapter reads the responses to a chat. */
function readingOf(dialect: Dialect): ChatReading {
  const fields = new Map<string, unknown>([['messages', [{ role: 'user', content: 'Hi' }]]])
  const call = dialect.adapter.chat({ fields, mode: 'plain', dialect, bodyBytes: 0, fetchImage })
  if (call instanceof Promise || isFailure(call)) throw new Error('it was not written at once')
  return call
}

type Read = { readonly choices: readonly object[]; readonly usage: unknown }

function readPlain(reading: ChatReading, given: object | undefined): Read {
  const { answer, shown, usage } = playWhole(reading, given, chatFormat)
  expect(answerSchema.safeParse(shown).error).toBeUndefined()
  return { choices: answer.choices, usage }
}

/** One choice per chunk, as clients read them; the stream ends well, or the test fails. */
function readStream({ createEventReader }: ChatReading, events: readonly (object | string)[]): Read {
  const pieces = events.map((event) =>
    Buffer.from(`: x\n\ndata: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`),
  )
  const { text, last, usage } = playStream({ reader: createEventReader(), format: chatFormat }, pieces)
  expect(last.kind).toBe('ended')
  const chunks = chunksOf(text)
  for (const chunk of chunks) expect(chunkSchema.safeParse(chunk).error).toBeUndefined()
  return { choices: chunks.map(({ choices }) => choices[0] ?? {}), usage }
}

type Asked = Recorded['requests'][number]['request']
type Dialect = ReturnType<typeof createDialect>

type Everywhere = Readonly<Record<RouteDocument['type'], (model: string) => object>>

const hi = { role: 'user', content: 'Hi' }

const everywhereAtOpenAi: Everywhere = {
  chat: (model) => ({ model, messages: [hi], stream: false }),
  embedding: (model) => ({ model, input: 'Hi', encoding_format: 'float' }),
}

/** The parts of every body that are the same, for other APIs and kinds than OpenAI's. */
const everywhere: Readonly<Record<string, Everywhere>> = {
  'openai-responses': {
    chat: (model) => ({
      model,
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      store: false,
      stream: false,
    }),
    embedding: everywhereAtOpenAi.embedding,
  },
  Gemini: {
    chat: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
    embedding: () => ({}),
  },
}

/** The request of a provider, and the caller's own before and after. */
function writeChat(request: Asked, dialect: Dialect) {
  const body = { model: 'any/model', messages: [hi], ...request }
  const before = JSON.stringify(body)
  expect(parseChatRequest(body), 'a caller may send it').not.toHaveProperty('refusal')
  const mode = request.stream === true ? 'stream' : 'plain'
  const own = { unmarked: 'kept', bodyBytes: 0, fetchImage } as const
  const written = adaptChatRequest({ body, mode, dialect, outputLimit: null, ...own })
  expect(findDropped(body, dialect), 'a strict request knows it before it is sent').toEqual(written.dropped)
  const { call } = written
  if (call instanceof Promise || isFailure(call)) throw new Error('it was not written at once')
  return { written, json: call.json, body: { before, now: JSON.stringify(body) } }
}

function writeEmbedding(request: Asked, dialect: Dialect) {
  const body = { model: 'any/model', input: 'Hi', ...request }
  const before = JSON.stringify(body)
  const json = adaptEmbeddingRequest({ body, items: ['Hi'], format: 'float', dialect })
  const written = { dropped: findDroppedOfEmbedding(body, dialect) }
  return { written, json, body: { before, now: JSON.stringify(body) } }
}
