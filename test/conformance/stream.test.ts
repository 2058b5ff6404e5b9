import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { chatFormat } from '#gateway/formats/chat-format'
import { eventReader } from '#gateway/upstream/internal/adapters/openai/stream'
import { answerSchemaOf } from './answer-schema.ts'
import { assemble, chunksOf, type ReadChoice } from './read-choices.ts'
import {
  streamCases as cases,
  costRub,
  counted,
  dataOf,
  findSplit,
  playStream,
  readsOf,
  type StreamCase,
} from './stream-play.ts'

const chunkSchema = answerSchemaOf('CreateChatCompletionStreamResponse')

/** The provider's bytes, written with the given line end. */
function bytesOf(events: StreamCase['events'], lineEnd = '\n'): Buffer {
  const lines = events.flatMap((event) => [': a comment', 'event: message', `data: ${dataOf(event)}`, ''])
  return Buffer.from(lines.map((line) => line + lineEnd).join(''))
}

function play(
  { n = 1 }: StreamCase,
  pieces: readonly Buffer[],
  usage: 'shown' | 'hidden',
  secrets: readonly string[] = [],
) {
  return playStream({ reader: eventReader, format: chatFormat, choices: n, usage, secrets }, pieces)
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
    expect(last).toMatchObject({ id: 'chatcmpl-ours', choices: [], usage: { ...counted, cost_rub: costRub } })
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
      expect(play(given, [bytes], 'shown')).toEqual(whole)
      expect(findSplit(bytes, (pieces) => play(given, pieces, 'shown').text)).toBeUndefined()
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
