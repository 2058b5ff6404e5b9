import { expect, test } from 'vitest'
import { createResponsesFormat } from '../../formats/responses-format.ts'
import { nothingAsked } from '../../requests/responses-asked.ts'
import { createDialect } from '../../upstream/dialect.ts'
import { responsesRelay } from '../../upstream/internal/adapters/responses/relay.ts'
import { createRelayedStream } from './relayed-stream.ts'
import { createStepReader } from './step-reader.ts'

const secret = 'sk-a-secret-of-these-tests'
const usage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

function reader() {
  const dialect = createDialect({ api: 'OpenAI', baseUrl: 'https://api.openai.com/v1' }, 'gpt-4o', {
    model: 'openai/gpt-4o',
    type: 'chat',
    parameters: { drop: [], rename: {}, defaults: {} },
    maxOutputTokens: null,
  })
  const own = { api: 'responses', body: {}, headers: {}, findSigned: () => undefined } as const
  const steps = responsesRelay.write({ own, mode: 'stream', dialect, outputTokensMax: null })
  const { value } = steps.next()
  return value?.reading.createRelayReader() ?? expect.fail('it has no input to work on')
}

type Fields = { readonly [field: string]: unknown }

/** The events of a stream whose message consists of these pieces, numbered from `from` on. */
function streamOf(pieces: readonly string[], from = 0): string {
  const text = pieces.join('')
  const at = { item_id: 'msg_1', output_index: 0 }
  const part = (written: string) => ({ type: 'output_text', text: written, annotations: [], logprobs: [] })
  const item = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [part(text)] }
  const events: readonly Fields[] = [
    { type: 'response.created', response: { id: 'resp_own', model: 'm', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, content_index: 0, delta })),
    { type: 'response.x_ünknown', value: '😀 "quoted"' },
    { type: 'response.output_item.done', output_index: 0, item },
    {
      type: 'response.completed',
      response: { id: 'resp_own', status: 'completed', output: [item], usage: {} },
    },
  ]
  return events
    .map(({ type, ...fields }, at) => {
      const data = JSON.stringify({ type, sequence_number: from + at, ...fields })
      return `event: ${type}\ndata: ${data}\n\n`
    })
    .join('')
}

function start() {
  const format = createResponsesFormat(nothingAsked, { encrypt: () => 'encrypted', nowS: () => 1 })
  const facts = { requestId: '1', model: 'openai/gpt-4o', createdS: 1, origin: 'mark' }
  const { relay: own = expect.fail('it relays') } = format
  return createRelayedStream({ ...facts, reader: reader(), relay: own, secrets: [secret] })
}

/** What the client reads of bytes that come in these reads. */
function relay(reads: readonly Buffer[]): { readonly text: string; readonly output: number } {
  const stream = start()
  let text = ''
  const steps = createStepReader(stream, (step) => {
    expect(step.kind).not.toBe('failed')
    if ('text' in step) text += step.text
  })
  for (const bytes of reads) steps.push(bytes)
  steps.end()
  expect(stream.finished()).toBe('all')
  return { text: text + stream.finishFrames(usage, '0.5'), output: stream.delivered.output.length() }
}

/** Each event as its own read, as slow streams come. */
const eventByEvent = (text: string) => text.split(/(?<=\n\n)/).map((event) => Buffer.from(event))

function eventsIn(text: string): readonly Fields[] {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('event: '))
  return frames.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)))
}

test('a stream split at any byte is relayed as the whole one', () => {
  const bytes = Buffer.from(streamOf(['Grüße, ', '😀', ' "and" more']))
  const whole = relay([bytes])
  expect(eventsIn(whole.text).map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(whole.text).toContain('"value":"😀 \\"quoted\\""')
  for (let at = 1; at < bytes.length; at += 1)
    expect(relay([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole)
})

const pieces = ['One', ' two', ' – ', '😀', ' "and"', '\n', ' more', ', and', '', ' more', '.']

test.each([
  ['as they came', 0],
  ['with our numbers where others are missing', 5],
])('deltas that come one by one are relayed %s, as if they were parsed', (_, from) => {
  const stream = streamOf(pieces, from)
  const { text, output } = relay(eventByEvent(stream))
  expect({ text, output }).toEqual(relay([Buffer.from(stream)]))
  const deltas = eventsIn(text).filter(({ type }) => type === 'response.output_text.delta')
  expect(deltas.map(({ delta }) => delta)).toEqual(pieces)
  expect(deltas.map(({ sequence_number }) => sequence_number)).toEqual(pieces.map((_, at) => at + 2))
  expect(output).toBe(pieces.join('').length)
})

test('a message that is cut at its limit has all deltas that left, and none that did not', () => {
  const stream = start()
  const steps = eventByEvent(streamOf(pieces))
  const written: string[] = []
  const reads = createStepReader(stream, (step) => {
    if ('text' in step) written.push(step.text)
  })
  for (const bytes of steps.slice(0, 2 + pieces.length)) reads.push(bytes)
  const [unsent, left] = [written.slice(-3).join(''), written.slice(0, -3).join('')]
  const text = left + stream.endAtLimit(unsent) + stream.finishFrames(usage, '0.5')
  const events = eventsIn(text)
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  const { item } = events.find(({ type }) => type === 'response.output_item.done') ?? expect.fail('it ends')
  expect(item).toMatchObject({ content: [{ text: pieces.slice(0, -3).join('') }] })
})

test.each([
  ['at once', (text: string) => [Buffer.from(text)]],
  ['one by one', eventByEvent],
])('a secret is hidden wherever its pieces end that come %s, and the numbers have no gaps', (_, readsOf) => {
  for (let at = 1; at < secret.length; at += 1) {
    const { text, output } = relay(
      readsOf(streamOf(['It', ' is ', secret.slice(0, at), secret.slice(at), '.'])),
    )
    expect(text).not.toContain(secret)
    const events = eventsIn(text)
    const said = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
    expect(said.join('')).toBe('It is [hidden].')
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
    expect(output).toBe(`It is ${secret}.`.length)
  }
})
