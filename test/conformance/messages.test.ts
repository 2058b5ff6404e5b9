import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { createMessagesFormat } from '#gateway/formats/messages-format'
import { noMessagesAsked } from '#gateway/requests/messages-asked'
import { eventReader } from '#gateway/upstream/internal/adapters/openai/stream'
import { expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { costRub, findSplit, playStream, readsOf, streamCases } from './stream-play.ts'

type Fields = { readonly [field: string]: unknown }

/** Requests of this API ask for one answer. */
const cases = streamCases.filter(({ n = 1 }) => n === 1)
const whole = cases.filter(({ failure }) => failure === undefined)

/** What a client of this API reads of a provider's stream. */
function play(pieces: readonly Buffer[], thinking: 'shown' | 'omitted' = 'shown') {
  const format = createMessagesFormat(
    { ...noMessagesAsked, thinking },
    {
      encrypt: (signed) => Buffer.from(JSON.stringify(signed)).toString('base64'),
      promptTokens: () => 7,
    },
  )
  return playStream({ reader: eventReader, format }, pieces)
}

const textsOf = (blocks: readonly Fields[], type: string, field: string) =>
  blocks
    .filter((block) => block.type === type)
    .map((block) => block[field])
    .join('')

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

describe('a stream is what strict clients expect', () => {
  test.each(cases)('$name', ({ events: given, choices: [choice] = [], failure }) => {
    const { text } = play(readsOf(given))
    if (text === '') return expect(failure).toBeDefined()
    const message = expectMessageStream(readMessageEvents(text), failure === undefined ? 'whole' : 'broken')
    expect(message).toMatchObject({ id: 'msg_ours', model: 'openai/gpt-4o' })
    if (failure !== undefined) return
    expect(message.usage).toMatchObject({ cost_rub: costRub })
    const blocks = message.content as Fields[]
    expect(textsOf(blocks, 'text', 'text')).toBe(`${choice?.content ?? ''}${choice?.refusal ?? ''}`)
    if (choice?.reasoning !== undefined)
      expect(textsOf(blocks, 'thinking', 'thinking')).toBe(choice.reasoning)
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    expect(calls.map(({ name, input }) => ({ name, input }))).toEqual(
      (choice?.calls ?? []).map(({ name, ...call }) => ({
        name,
        input: call.input === undefined ? parsed(call.arguments || '{}') : { input: call.input },
      })),
    )
    const reason = choice?.refusal ? 'refusal' : stopReasons[choice?.finish ?? 'stop']
    expect(message.stop_reason).toBe(reason)
  })
})

describe('where the bytes are cut changes nothing', () => {
  test.each(cases)('$name', ({ events }) => {
    const bytes = Buffer.concat(readsOf(events))
    expect(play(readsOf(events)).text).toBe(play([bytes]).text)
    expect(findSplit(bytes, (pieces) => play(pieces).text)).toBeUndefined()
  })
})

describe('thinking that is omitted is in its signature', () => {
  test.each(whole.filter(({ choices: [choice] = [] }) => choice?.reasoning))(
    '$name',
    ({ events, choices: [choice] = [] }) => {
      const { content } = expectMessageStream(readMessageEvents(play(readsOf(events), 'omitted').text))
      const thinking = (content as Fields[]).filter(({ type }) => type === 'thinking')
      expect(textsOf(thinking, 'thinking', 'thinking')).toBe('')
      const hidden = thinking.map(({ signature }) => {
        const { text, details } = JSON.parse(Buffer.from(String(signature), 'base64').toString())
        return text ?? (details as Fields[]).map((detail) => detail.text ?? detail.summary ?? '').join('')
      })
      expect(hidden.join('')).toBe(choice?.reasoning)
    },
  )
})

describe("Anthropic's own SDK reads the stream to the same message", () => {
  test.each(whole)('$name', async ({ events: given }) => {
    const { text } = play(readsOf(given))
    const client = new Anthropic({
      apiKey: 'none',
      baseURL: 'http://127.0.0.1',
      fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
    })
    const read = await client.messages
      .stream({ model: 'a/b', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] })
      .finalMessage()
    const { content, stop_reason } = expectMessageStream(readMessageEvents(text))
    expect(read.stop_reason).toBe(stop_reason)
    expect(read.content.map(({ type }) => type)).toEqual((content as Fields[]).map(({ type }) => type))
  })
})
