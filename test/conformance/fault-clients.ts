import { expect } from 'vitest'
import { expectMessage, expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { expectResponse, expectStream, type ResponseEvent, readEvents } from '../support/response-events.ts'
import { answerSchemaOf } from './answer-schema.ts'
import { messagesTypes, type Outcome, responsesCodes } from './fault-cases.ts'

export type Mode = 'plain' | 'stream'

/** A response to a client. */
export type Answered = { readonly status: number; readonly headers: Headers; readonly text: string }

/** The model that a response must name, and its text. */
type Expected = { readonly model: string; readonly text: string }
type Rejection = Extract<Outcome, { refusal: string }>
type Cut = Extract<Outcome, { cut: string }>

/** A client of one of the gateway's APIs: how it asks, and what it must be able to read. */
type FaultClient = {
  readonly path: string
  readonly headers: (mode: Mode) => Readonly<Record<string, string>>
  readonly bodyOf: (model: string, mode: Mode) => object
  readonly expectAnswer: (mode: Mode, answer: Answered, expected: Expected) => void
  readonly expectCut: (answer: Answered, cut: Cut) => void
  readonly expectRejection: (mode: Mode, answer: Answered, rejection: Rejection) => void
}

const prompt = 'Say hello'

const answerSchema = answerSchemaOf('CreateChatCompletionResponse')
const chunkSchema = answerSchemaOf('CreateChatCompletionStreamResponse')

const chatClient: FaultClient = {
  path: '/chat/completions',
  headers: () => ({}),
  bodyOf: (model, mode) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
    ...(mode === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  expectAnswer(mode, { text }, { model, text: content }) {
    if (mode === 'plain') {
      const body = JSON.parse(text)
      expect(answerSchema.safeParse(body).error).toBeUndefined()
      expect(body).toMatchObject({ model, choices: [{ message: { content }, finish_reason: 'stop' }] })
      return
    }
    const { models, ...read } = readChunks(text)
    expect(read).toEqual({ content, finishes: ['stop'], error: undefined, isDone: true })
    expect(models).toEqual(new Set([model]))
  },
  expectCut({ text }, { cut, code }) {
    expect(readChunks(text)).toMatchObject({
      content: cut,
      finishes: [],
      error: { code, type: 'api_error', source: 'upstream' },
      isDone: false,
    })
  },
  expectRejection: (_mode, answer, rejection) => expectErrorBody(answer, rejection),
}

/** A stream of chats; every chunk is valid by OpenAI's schema, and an error is the last thing. */
function readChunks(text: string) {
  const frames = text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'))
  const data = frames.map((frame) => frame.replace(/^data: /, ''))
  const isDone = data.at(-1) === '[DONE]'
  const events = (isDone ? data.slice(0, -1) : data).map((json) => JSON.parse(json))
  const error = events.at(-1)?.error
  const chunks = error === undefined ? events : events.slice(0, -1)
  for (const chunk of chunks) expect(chunkSchema.safeParse(chunk).error).toBeUndefined()
  const choices = chunks.flatMap((chunk) => chunk.choices)
  return {
    content: choices.map(({ delta }) => delta.content ?? '').join(''),
    finishes: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    models: new Set(chunks.map((chunk) => chunk.model)),
    error,
    isDone,
  }
}

/** Clients skip events and items that they do not know, which a provider with the same API may send; they are numbered, too. */
function knownResponseEvents(text: string): readonly ResponseEvent[] {
  const frames = text.split(/(?<=\n\n)/)
  const known = frames.filter((frame) => !/"(?:response\.)?pulse"/.test(frame))
  const numbers = frames.flatMap((frame) => /"sequence_number":(\d+)/.exec(frame)?.[1] ?? [])
  expect(numbers).toEqual(numbers.map((_, at) => String(at)))
  const renumbered = known.map((frame, at) => frame.replace(/(?<="sequence_number":)\d+/, String(at)))
  return readEvents(renumbered.join(''))
}

/** Like Codex, it accepts nothing but a stream where it asks for one: rejections are streams, too. */
const responsesClient: FaultClient = {
  path: '/responses',
  headers: (mode) => (mode === 'stream' ? { accept: 'text/event-stream' } : {}),
  bodyOf: (model, mode) => ({ model, input: prompt, ...(mode === 'stream' ? { stream: true } : {}) }),
  expectAnswer(mode, { text }, { model, text: said }) {
    const response = mode === 'plain' ? JSON.parse(text) : expectStream(knownResponseEvents(text))
    expectResponse(response)
    expect(response).toMatchObject({ status: 'completed', model, error: null })
    expect(textOf(response)).toBe(said)
  },
  expectCut({ text }, outcome) {
    const events = readEvents(text)
    const response = expectError(events, outcome)
    expect(textOf(response)).toBe(outcome.cut)
  },
  expectRejection(mode, answer, rejection) {
    if (mode === 'plain') {
      expectErrorBody(answer, rejection)
      return
    }
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    const events = readEvents(answer.text)
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'error', 'response.failed'])
    expect(expectError(events, rejection).output).toEqual([])
    if (rejection.says !== undefined) expect(answer.text).toContain(rejection.says)
  },
}

/** Clients skip events and blocks that they do not know, which a provider with the same API may send. */
function knownMessageEvents(text: string): ReturnType<typeof readMessageEvents> {
  const isInvented = (frame: string) => /_pulse"|"index":9/.test(frame)
  return readMessageEvents(
    text
      .split(/(?<=\n\n)/)
      .filter((frame) => !isInvented(frame))
      .join(''),
  )
}

/** Like Claude Code, it acts on the types of errors, and on the words for a prompt that is too long. */
const messagesClient: FaultClient = {
  path: '/messages?beta=true',
  headers: () => ({ 'anthropic-version': '2023-06-01' }),
  bodyOf: (model, mode) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: prompt }],
    ...(mode === 'stream' ? { stream: true } : {}),
  }),
  expectAnswer(mode, { text }, { model, text: said }) {
    const message = mode === 'plain' ? JSON.parse(text) : expectMessageStream(knownMessageEvents(text))
    if (mode === 'plain') expectMessage(message)
    expect(message).toMatchObject({ role: 'assistant', model, stop_reason: 'end_turn' })
    expect(joinedTexts(message.content as Fields[])).toBe(said)
  },
  expectCut({ text, headers }, { cut, code }) {
    const events = readMessageEvents(text)
    expectMessageStream(events, 'broken')
    expect(joinedTexts(events.map(({ delta }) => (delta ?? {}) as Fields))).toBe(cut)
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { type: messagesTypes[code], code, source: 'upstream' },
      request_id: headers.get('request-id'),
    })
  },
  expectRejection(_mode, answer, rejection) {
    expectErrorBody(answer, rejection)
    const { type, error, request_id } = JSON.parse(answer.text)
    expect([type, error.type]).toEqual(['error', messagesTypes[rejection.refusal]])
    expect(request_id).toBe(answer.headers.get('request-id'))
    if (error.code === 'context_length_exceeded')
      expect(error.message).toMatch(/^prompt is too long: \d+ tokens > \d+ maximum$/)
  },
}

function joinedTexts(parts: readonly Fields[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}

type Fields = { readonly [field: string]: unknown }

/** The response at the end of a failed stream: both events of the failure have the same error. */
function expectError(events: readonly ResponseEvent[], outcome: Cut | Rejection): Fields {
  const response = expectStream(events)
  const { type, code, message } = events.at(-2) ?? expect.fail('there are two events of the failure')
  expect(type).toBe('error')
  expect(code).toBe(responsesCodes['cut' in outcome ? outcome.code : outcome.refusal])
  expect(response).toMatchObject({ status: 'failed', error: { code, message } })
  return response
}

function textOf({ output }: Fields): string {
  const parts = (output as Fields[]).flatMap(({ content }) => (content as Fields[] | undefined) ?? [])
  return parts.map(({ text }) => text).join('')
}

function expectErrorBody(
  { status, headers, text }: Answered,
  { refusal, retryAfter, says }: Rejection,
): void {
  const { error } = JSON.parse(text)
  expect(`${status} ${error.code}`).toBe(refusal)
  expect(error.source).toBe('upstream')
  expect(headers.get('content-type')).toContain('application/json')
  expect(headers.get('retry-after')).toBe(retryAfter ?? null)
  expect(headers.get('x-should-retry')).toBe(retryAfter === undefined ? 'false' : null)
  if (says !== undefined) expect(error.message).toContain(says)
}

/** By the names of the APIs. */
export const faultClients = {
  chat: chatClient,
  responses: responsesClient,
  messages: messagesClient,
} as const
export type ClientName = keyof typeof faultClients
