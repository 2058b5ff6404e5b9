import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createResponsesFormat } from '#gateway/formats/responses-format'
import { nothingAsked } from '#gateway/requests/responses-asked'
import { eventReader } from '#gateway/upstream/internal/adapters/openai/stream'
import { expectStream, readEvents } from '../support/response-events.ts'
import { costRub, findSplit, playStream, readsOf, streamCases } from './stream-play.ts'

type Fields = { readonly [field: string]: unknown }

/** Requests of this API ask for one answer. */
const cases = streamCases.filter(({ n = 1 }) => n === 1)
const whole = cases.filter(({ failure }) => failure === undefined)

/** What a client of this API reads of a provider's stream. Every function is a tool of that name, or one with free input. */
function play(pieces: readonly Buffer[], kind: 'function' | 'custom' = 'function') {
  const asked = { ...nothingAsked, toolOf: (name: string) => ({ kind, name }) }
  const format = createResponsesFormat(asked, {
    encrypt: (signed) => Buffer.from(JSON.stringify(signed)).toString('base64'),
    nowS: () => 1_800_000_001,
  })
  return playStream({ reader: eventReader, format }, pieces)
}

/** The words and calls of a response's items, as a case names them. */
function shownBy(output: readonly Fields[]) {
  const partsOf = (type: string) =>
    output
      .flatMap(({ content }) => (content as Fields[] | undefined) ?? [])
      .filter((part) => part.type === type)
  const summaries = output.flatMap(({ summary }) => (summary as Fields[] | undefined) ?? [])
  return {
    content: partsOf('output_text')
      .map(({ text }) => text)
      .join(''),
    refusal: partsOf('refusal')
      .map(({ refusal }) => refusal)
      .join(''),
    reasoning: summaries.map(({ text }) => text).join(''),
    calls: output
      .filter(({ type }) => String(type).endsWith('_call') && type !== 'image_generation_call')
      .map(({ name, arguments: written, input }) => ({ name, written: written ?? input })),
  }
}

describe('a stream is what strict clients expect', () => {
  test.each(cases)('$name', ({ events: given, choices: [choice] = [], failure }) => {
    const { text } = play(readsOf(given))
    if (text === '') return expect(failure).toBeDefined()
    const events = readEvents(text)
    const response = expectStream(events, failure === undefined ? 'whole' : 'broken')
    if (failure !== undefined) return
    expect(response).toMatchObject({ id: 'resp_ours', model: 'openai/gpt-4o', usage: { cost_rub: costRub } })
    const shown = shownBy(response.output as Fields[])
    expect(shown.content).toBe(choice?.content ?? '')
    expect(shown.refusal).toBe(choice?.refusal ?? '')
    if (choice?.reasoning !== undefined) expect(shown.reasoning).toBe(choice.reasoning)
    const calls = choice?.calls ?? []
    expect(shown.calls).toEqual(
      calls.map(({ name, ...call }) => ({ name, written: call.arguments ?? call.input })),
    )
    const incomplete = { length: 'max_output_tokens', content_filter: 'content_filter' }[choice?.finish ?? '']
    expect(response.incomplete_details).toEqual(incomplete === undefined ? null : { reason: incomplete })
  })
})

describe('where the bytes are cut changes nothing', () => {
  test.each(cases)('$name', ({ events }) => {
    const bytes = Buffer.concat(readsOf(events))
    expect(play(readsOf(events)).text).toBe(play([bytes]).text)
    expect(findSplit(bytes, (pieces) => play(pieces).text)).toBeUndefined()
  })
})

describe('calls of tools with a free input are whole, too', () => {
  test.each(whole)('$name', ({ events, choices: [choice] = [] }) => {
    const response = expectStream(readEvents(play(readsOf(events), 'custom').text))
    expect(shownBy(response.output as Fields[]).calls).toHaveLength(choice?.calls?.length ?? 0)
  })
})

describe("OpenAI's own SDK reads the stream to the same response", () => {
  test.each(whole)('$name', async ({ events: given }) => {
    const { text } = play(readsOf(given))
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: 'http://127.0.0.1/v1',
      fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
    })
    const { output } = await client.responses.stream({ model: 'openai/gpt-4o', input: 'x' }).finalResponse()
    const last = expectStream(readEvents(text))
    expect(output.map(({ id }) => id)).toEqual((last.output as Fields[]).map(({ id }) => id))
  })
})
