import { expect, test } from 'vitest'
import { refusal } from '#core/errors/refusal'
import { nothingAsked } from '../requests/responses-asked.ts'
import type { ContentStep } from './content-step.ts'
import { facts, usage } from './internal/responses.fixture.ts'
import type { WholeResponse } from './keep-response.ts'
import { createResponsesFormat } from './responses-format.ts'

const asked = {
  ...nothingAsked,
  model: 'a/b',
  pathOf: (path: string) =>
    path.replace('messages[2]', 'input[4]').replace('max_tokens', 'max_output_tokens'),
}
const createFormat = () => createResponsesFormat(asked, { encrypt: () => 'encrypted', nowS: () => 20 })
const error = refusal('upstream_error', 'It broke.')

type Event = {
  readonly type: string
  readonly sequence_number: number
  readonly [field: string]: unknown
}

/** The events of frames; each names its type twice, and is one line. */
function eventsIn(frames: string): readonly Event[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== 'data: [DONE]')
    .map((frame) => {
      const [, type, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? expect.fail(frame)
      const event = JSON.parse(data)
      expect(event.type).toBe(type)
      return event
    })
}

function open() {
  const format = createFormat()
  const stream = { ...facts, usage: 'hidden', writeJson: JSON.stringify } as const
  return { format, writer: format.createStreamWriter(stream) }
}

const text = (said: string): ContentStep => ({ kind: 'text', text: said, logprobs: null, signed: undefined })
const finish = (reason: 'stop' | 'length' | 'content_filter'): ContentStep => ({ kind: 'finish', reason })

test('a stream begins with the response and ends with all of it, its usage and its cost', () => {
  const { writer } = open()
  writer.note({ service_tier: 'flex' })
  const written = writer.write(0, [text('Hel'), text('lo'), finish('stop')])
  const events = eventsIn(written + writer.end(usage, '0.5', undefined))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  expect(events[0]?.response).toMatchObject({
    id: 'resp_1',
    status: 'in_progress',
    output: [],
    usage: null,
    store: false,
  })
  const item = events.at(-2)?.item
  expect(events.at(-1)?.response).toMatchObject({
    id: 'resp_1',
    model: 'a/b',
    created_at: 10,
    completed_at: 20,
    status: 'completed',
    service_tier: 'flex',
    output: [item],
    usage: {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 12,
      cost_rub: '0.5',
    },
  })
})

test('a whole answer is the same response as its stream', () => {
  const { writer } = open()
  const start = { index: 0, id: 'c', type: 'function', name: 'f', signed: undefined } as const
  const steps: readonly ContentStep[] = [
    { kind: 'reasoning', text: 'Hm.' },
    { kind: 'details', details: [{ type: 'reasoning.text', index: 0, text: 'Hm.', signature: 's' }] },
    text('Hello'),
    { kind: 'refusal', text: 'No.' },
    { kind: 'call', call: start },
    { kind: 'call_part', part: { index: 0, type: 'function', text: '{}', signed: undefined } },
    { kind: 'finish', reason: 'tool_calls' },
  ]
  const events = eventsIn(writer.write(0, steps) + writer.end(usage, '0.5', undefined))
  const message = {
    role: 'assistant',
    reasoning_content: 'Hm.',
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }],
    content: 'Hello',
    refusal: 'No.',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
  }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  expect(createFormat().answerOf({ ...facts, choices, extras: {} }, usage, '0.5')).toEqual(
    events.at(-1)?.response,
  )
})

test.each([
  [finish('length'), 'incomplete', { reason: 'max_output_tokens' }],
  [finish('content_filter'), 'incomplete', { reason: 'content_filter' }],
  [finish('stop'), 'completed', null],
] as const)('%j ends the response as %s', (last, status, incomplete_details) => {
  const { writer } = open()
  const events = eventsIn(writer.write(0, [text('Hi'), last]) + writer.end(usage, '0', undefined))
  expect(events.at(-1)).toMatchObject({
    type: `response.${status}`,
    response: { status, incomplete_details },
  })
  expect(events.filter(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(type))).toHaveLength(
    1,
  )
})

test('a refusal in words is a complete response', () => {
  const { writer } = open()
  const steps: readonly ContentStep[] = [{ kind: 'refusal', text: 'No.' }, finish('content_filter')]
  const events = eventsIn(writer.write(0, steps) + writer.end(usage, '0', undefined))
  expect(events.at(-1)?.type).toBe('response.completed')
})

test('a text in a frame made beforehand is the same as one that is written', () => {
  const [one, other] = [open(), open()]
  const begin = one.writer.write(0, [text('a')]) + other.writer.write(0, [text('a')])
  expect(begin).toContain('created')
  const writeText = one.writer.textFrame(0) ?? expect.fail('texts may follow')
  expect(writeText('b')).toBe(other.writer.write(0, [text('b')]))
  const call: ContentStep = {
    kind: 'call',
    call: { index: 0, id: 'c', type: 'function', name: 'f', signed: undefined },
  }
  one.writer.write(0, [call])
  expect(eventsIn(writeText('c')), 'it waits for the call').toEqual([])
  expect(eventsIn(one.writer.end(usage, '0', undefined)).at(-1)).toMatchObject({
    response: {
      output: [{ content: [{ text: 'ab' }] }, { type: 'function_call' }, { content: [{ text: 'c' }] }],
    },
  })
})

test('a stream that breaks ends with an error and the response so far', () => {
  const { format, writer } = open()
  const written = writer.write(0, [text('Hel')])
  const events = eventsIn(written + format.writeStreamError(error, '1'))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', code: 'server_error', message: 'It broke.', param: null },
    {
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'It broke.' },
        output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
      },
    },
  ])
})

test('a rejection is a stream of three events', () => {
  const events = eventsIn(createFormat().writeErrorStream?.(error, '1') ?? '')
  expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
    ['response.created', 0],
    ['error', 1],
    ['response.failed', 2],
  ])
  expect(events.at(-1)).toMatchObject({ response: { id: 'resp_1', error: { code: 'server_is_overloaded' } } })
})

test('a rejection names the fields of the request that its client sent', () => {
  const format = createFormat()
  const wrong = refusal('invalid_value', 'messages[2].content must be a string. Lower max_tokens.', {
    param: 'messages[2].content',
  })
  const own = {
    param: 'input[4].content',
    message: 'input[4].content must be a string. Lower max_output_tokens.',
  }
  expect(JSON.parse(format.writeError(wrong, '1'))).toMatchObject({
    error: { code: 'invalid_value', ...own },
  })
  expect(eventsIn(format.writeErrorStream?.(wrong, '1') ?? '')[1]).toMatchObject(own)
  expect(format.parameterOf('max_tokens')).toBe('max_output_tokens')
})

test.each([true, false])(
  'a response that is stored (%s) shows that in its last event, and as a whole',
  async (isStored) => {
    const kept: WholeResponse[] = []
    const keep = (response: WholeResponse) => {
      kept.push(response)
      return Promise.resolve(isStored)
    }
    const format = createResponsesFormat(asked, { encrypt: () => 'encrypted', nowS: () => 20, keep })
    const writer = format.createStreamWriter({ ...facts, usage: 'shown', writeJson: JSON.stringify })
    const begin = writer.write(0, [text('Hi'), finish('stop')])
    await writer.keep?.(usage, '0')
    const events = eventsIn(begin + writer.end(usage, '0', undefined))
    const last = events.at(-1)?.response as object
    expect(last).toMatchObject({ status: 'completed', store: isStored })
    expect(JSON.parse(kept[0]?.json ?? ''), 'stored as its client gets it').toEqual({ ...last, store: true })
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    const whole = JSON.stringify(format.answerOf({ ...facts, choices, extras: {} }, usage, '0'))
    expect(JSON.parse((await format.keep?.(whole, facts.requestId)) ?? '')).toEqual(last)
    for (const { json, items } of kept) expect(items).toEqual(JSON.parse(json).output)
    expect(kept).toHaveLength(2)
  },
)

test('a stream that fails is not stored, whatever was asked for', () => {
  const format = createResponsesFormat(asked, {
    encrypt: () => 'encrypted',
    nowS: () => 20,
    keep: () => Promise.resolve(true),
  })
  const writer = format.createStreamWriter({ ...facts, usage: 'shown', writeJson: JSON.stringify })
  const begin = writer.write(0, [text('Hi')])
  const events = eventsIn(
    begin + format.writeStreamError(refusal('upstream_error', 'It broke.'), facts.requestId),
  )
  expect(events[0]?.response).toMatchObject({ store: true })
  expect(events.at(-1)?.response).toMatchObject({ status: 'failed', store: false })
})

test('texts that do not leave are not in the response that ends at its limit', () => {
  const { writer } = open()
  const left = writer.write(0, [text('Hel')])
  writer.discard?.(writer.write(0, [text('lo '), text('there')]))
  const events = eventsIn(left + writer.write(0, [finish('length')]) + writer.end(usage, '0.5', undefined))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  expect(events.at(-1)).toMatchObject({
    type: 'response.incomplete',
    response: { output: [{ content: [{ text: 'Hel' }] }] },
  })
})
