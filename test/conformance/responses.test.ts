import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { createStepReader } from '#gateway/chat/internal/step-reader'
import { createStreamNormaliser, type StreamStep } from '#gateway/chat/internal/stream-normaliser'
import { createResponsesFormat } from '#gateway/formats/responses-format'
import { nothingAsked } from '#gateway/requests/responses-asked'
import { eventReader } from '#gateway/upstream/internal/adapters/openai/stream'
import { expectStream, readEvents } from '../support/response-events.ts'

/** The part of a stream's case that this API shows (`stream.test.ts`). */
type Case = {
  readonly name: string
  readonly n?: number
  readonly events: readonly (object | string)[]
  readonly choices?: readonly {
    readonly content?: string | null
    readonly reasoning?: string
    readonly refusal?: string
    readonly calls?: readonly Call[]
    readonly finish?: string
  }[]
  readonly failure?: object
}

type Call = { readonly name: string; readonly arguments?: string; readonly input?: string }
type Fields = { readonly [field: string]: unknown }

const folder = join(import.meta.dirname, 'cases')
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
const all: readonly Case[] = files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
/** Requests of this API ask for one answer. */
const cases = all.filter(({ n = 1 }) => n === 1)
const whole = cases.filter(({ failure }) => failure === undefined)

const counted = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

function readsOf(events: Case['events']): Buffer[] {
  const head = { id: 'theirs', object: 'chat.completion.chunk', created: 1, model: 'theirs' }
  return events.map((event) => {
    const shown = typeof event === 'object' && 'choices' in event ? { ...head, ...event } : event
    return Buffer.from(`data: ${typeof shown === 'string' ? shown : JSON.stringify(shown)}\n\n`)
  })
}

/** What a client of this API reads of a provider's stream. Every function is a tool of that name, or one with free input. */
function play(
  pieces: readonly Buffer[],
  kind: 'function' | 'custom' = 'function',
): { text: string; last: StreamStep } {
  const asked = { ...nothingAsked, toolOf: (name: string) => ({ kind, name }) }
  const format = createResponsesFormat(asked, {
    encrypt: (signed) => Buffer.from(JSON.stringify(signed)).toString('base64'),
    nowS: () => 1_800_000_001,
  })
  const normaliser = createStreamNormaliser({
    reader: eventReader,
    format,
    requestId: 'ours',
    model: 'openai/gpt-4o',
    createdS: 1_800_000_000,
    origin: 'provider',
    choices: 1,
    usage: 'hidden',
    secrets: [],
  })
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
  return { text, last: finished }
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
    expect(response).toMatchObject({ id: 'resp_ours', model: 'openai/gpt-4o', usage: { cost_rub: '0.25' } })
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
    const { text } = play([bytes])
    expect(play(readsOf(events)).text).toBe(text)
    expect(play([...bytes].map((byte) => Buffer.of(byte))).text).toBe(text)
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
