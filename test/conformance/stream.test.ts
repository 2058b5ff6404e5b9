import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createStepReader } from '#gateway/chat/internal/step-reader'
import { createStreamNormaliser, type StreamStep } from '#gateway/chat/internal/stream-normaliser'
import { chatFormat } from '#gateway/formats/chat-format'
import { eventReader } from '#gateway/upstream/internal/adapters/openai/stream'
import { answerSchemaOf } from './answer-schema.ts'
import { assemble, chunksOf, type ReadChoice } from './read-choices.ts'

/** One provider's stream and what clients shall read. `frames`: to the field, where that matters. */
type Case = {
  readonly name: string
  readonly n?: number
  readonly events: readonly (object | string)[]
  readonly choices?: readonly ReadChoice[]
  readonly usage?: object
  /** Of the one chunk that contains it. */
  readonly moderation?: object
  readonly frames?: readonly object[]
  /** The stream breaks; `choices` is what was handed out before. */
  readonly failure?: { readonly kind: string; readonly result: string }
}

const folder = join(import.meta.dirname, 'cases')
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
const cases: readonly Case[] = files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const chunkSchema = answerSchemaOf('CreateChatCompletionStreamResponse')
const counted = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

/** The provider's bytes, written with the given line end. */
function bytesOf(events: Case['events'], lineEnd = '\n'): Buffer {
  const lines = events.flatMap((event) => [': a comment', 'event: message', `data: ${dataOf(event)}`, ''])
  return Buffer.from(lines.map((line) => line + lineEnd).join(''))
}

/** The same as most providers send them: one read for each event, and nothing but its data. */
function readsOf(events: Case['events']): Buffer[] {
  return events.map((event) => Buffer.from(`data: ${dataOf(event)}\n\n`))
}

function dataOf(event: Case['events'][number]): string {
  return typeof event === 'string' ? event : JSON.stringify(withHead(event))
}

/** A real provider's chunk has a head; a case writes one down only where it matters. */
function withHead(event: object): object {
  if (!('choices' in event)) return event
  return { id: 'chatcmpl-theirs', object: 'chat.completion.chunk', created: 1, model: 'theirs', ...event }
}

type Played = { readonly text: string; readonly last: StreamStep; readonly usage: unknown }

/** What our client reads of a provider's bytes that arrive in these pieces; whole only where the stream ended well. */
function play(
  given: Case,
  pieces: readonly Buffer[],
  usage: 'shown' | 'hidden',
  secrets: readonly string[] = [],
): Played {
  const options = {
    requestId: 'ours',
    format: chatFormat,
    model: 'openai/gpt-4o',
    createdS: 1_800_000_000,
    origin: 'provider',
    secrets,
  }
  const normaliser = createStreamNormaliser({ ...options, reader: eventReader, choices: given.n ?? 1, usage })
  let text = ''
  let last: StreamStep = { kind: 'nothing' }
  const take = (step: StreamStep) => {
    if (step.kind === 'nothing') return
    if ('text' in step) text += step.text
    last = step
  }
  const reader = createStepReader(normaliser, take)
  for (const piece of pieces) reader.push(piece)
  reader.end()
  const finished = last as StreamStep
  if (finished.kind === 'ended') text += normaliser.finishFrames(counted, '0.25')
  return { text, last: finished, usage: normaliser.usage() }
}

function expectChoices(assembled: readonly ReadChoice[], expected: readonly ReadChoice[]): void {
  expect(assembled).toHaveLength(expected.length)
  for (const [index, choice] of expected.entries()) {
    const calls = choice.calls?.map((call) => ({ id: expect.any(String), ...call }))
    expect(assembled[index]).toEqual({ ...choice, ...(calls ? { calls } : {}) })
  }
}

describe('a stream is what strict clients expect', () => {
  test.each(cases)('$name', (given) => {
    const { text, last, usage } = play(given, [bytesOf(given.events)], 'hidden')
    const chunks = chunksOf(text)
    for (const chunk of chunks) {
      expect(chunkSchema.safeParse(chunk).error).toBeUndefined()
      expect(chunk).toMatchObject({ id: 'chatcmpl-ours', model: 'openai/gpt-4o', created: 1_800_000_000 })
      expect(chunk).not.toHaveProperty('usage')
    }
    expectChoices(assemble(chunks), given.choices ?? [])
    if (given.frames)
      expect(chunks.map(({ choices }) => ({ ...choices[0] }))).toEqual(
        given.frames.map((frame) => ({ index: 0, ...frame })),
      )
    if (given.usage) expect(usage).toEqual(given.usage)
    const moderations = chunks.flatMap(({ choices, moderation }) =>
      moderation ? [{ choices, moderation }] : [],
    )
    expect(moderations).toEqual(given.moderation ? [{ choices: [], moderation: given.moderation }] : [])
    if (given.failure === undefined) {
      expect(last.kind).toBe('ended')
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    } else {
      expect(last).toMatchObject({ kind: 'failed', failure: given.failure })
      expect(text).not.toContain('[DONE]')
    }
  })
})

describe('usage is in the last chunk, with its cost, and null in all others, when the client asked', () => {
  test.each(cases.filter(({ failure }) => failure === undefined))('$name', (given) => {
    const chunks = chunksOf(play(given, [bytesOf(given.events)], 'shown').text)
    const last = chunks.pop()
    expect(chunkSchema.safeParse(last).error).toBeUndefined()
    expect(last).toMatchObject({ id: 'chatcmpl-ours', choices: [], usage: { ...counted, cost_rub: '0.25' } })
    for (const chunk of chunks) {
      expect(chunk.usage).toBeNull()
      expect(chunkSchema.safeParse(chunk).error).toBeUndefined()
    }
  })
})

describe('where the bytes are cut, and how lines end, changes nothing', () => {
  test.each(cases)('$name', (given) => {
    const whole = play(given, [bytesOf(given.events)], 'shown')
    expect(play(given, readsOf(given.events), 'shown')).toEqual(whole)
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const bytes = bytesOf(given.events, lineEnd)
      const everyByte = [...bytes].map((byte) => Buffer.of(byte))
      expect(play(given, everyByte, 'shown')).toEqual(whole)
      for (let at = 1; at < bytes.length; at += 1) {
        const cut = play(given, [bytes.subarray(0, at), bytes.subarray(at)], 'shown')
        if (cut.text !== whole.text) expect(cut.text, `cut at ${at}`).toBe(whole.text)
      }
    }
  })
})

describe('a credential that an answer does not say changes nothing of it, even if every text ends like its beginning', () => {
  test.each(cases.filter(({ failure }) => failure === undefined))('$name', (given) => {
    const reads = readsOf(given.events)
    const credentials = [...new Set(reads.join(''))].map((letter) => letter + '\u0007'.repeat(10))
    const { text, last } = play(given, reads, 'hidden', credentials)
    expectChoices(assemble(chunksOf(text)), given.choices ?? [])
    expect(last.kind).toBe('ended')
  })
})

describe("OpenAI's own SDK reads the stream to the same answer", () => {
  test.each(cases.filter(({ failure }) => failure === undefined))('$name', async (given) => {
    const { text } = play(given, [bytesOf(given.events)], 'shown')
    const headers = { 'content-type': 'text/event-stream' }
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: 'http://127.0.0.1/v1',
      fetch: async () => new Response(text, { headers }),
    })
    const answer = await client.chat.completions
      .stream({
        model: 'openai/gpt-4o',
        messages: [{ role: 'user', content: 'x' }],
        stream_options: { include_usage: true },
      })
      .on('error', () => {})
      .finalChatCompletion()
      .catch((error: Error) => error)
    // The helper refuses answers that ended early; that is its own affair, and right.
    if (given.choices?.some(({ finish }) => finish === 'length' || finish === 'content_filter')) return
    expect(answer).not.toBeInstanceOf(Error)
    if (answer instanceof Error) return
    expect(answer.usage).toMatchObject(counted)
    for (const [index, { message, finish_reason }] of answer.choices.entries()) {
      const { content = null, refusal = null, finish, calls = [], other = {} } = given.choices?.[index] ?? {}
      expect(message.content).toBe(content)
      expect(message.refusal ?? null).toBe(refusal)
      expect(finish_reason).toBe(finish)
      expect(
        message.tool_calls?.map((call) =>
          call.type === 'custom'
            ? call.custom
            : { name: call.function.name, arguments: call.function.arguments },
        ) ?? [],
      ).toEqual(calls.map(({ name, arguments: args, input }) => ({ name, arguments: args, input })))
      for (const [at, { extra_content }] of calls.entries())
        if (extra_content) expect(message.tool_calls?.[at]).toMatchObject({ extra_content })
      // Of lists this SDK keeps the last one.
      for (const field of Object.keys(other)) expect(message).toHaveProperty(field)
    }
  })
})
