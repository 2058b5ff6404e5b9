import { expect, test } from 'vitest'
import type { JsonObject } from '../../wire/json-fields.ts'
import type { ContentStep } from '../content-step.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import { ResponseOutput } from './response-output.ts'

type Event = { readonly type: string; readonly [field: string]: unknown }

/** The events and the items of steps, and what was encrypted. */
function write(steps: readonly ContentStep[]) {
  const events: Event[] = []
  const signed: SignedReasoning[] = []
  const output = new ResponseOutput({
    requestId: '1',
    origin: 'mark',
    toolOf: (name) =>
      name === 'patch'
        ? { kind: 'custom', name: 'apply_patch' }
        : { kind: 'function', name, namespace: 'ns' },
    encrypt(reasoning) {
      signed.push(reasoning)
      return `encrypted ${signed.length}`
    },
    events: {
      event: (type, fields) => events.push({ type, ...fields }),
      grow: (head, tail) => events.push(JSON.parse(`${head.split('\ndata: ')[1]}0${tail}`)),
    },
  })
  for (const step of steps) output.take(step)
  return { output, events, signed, items: output.items }
}

const text = (said: string): ContentStep => ({ kind: 'text', text: said, logprobs: null, signed: undefined })
const call = (index: number, name = 'f', signed?: { extra_content: JsonObject }): ContentStep => ({
  kind: 'call',
  call: { index, id: `call_${index}`, type: 'function', name, signed },
})
const part = (index: number, json: string): ContentStep => ({
  kind: 'call_part',
  part: { index, type: 'function', text: json, signed: undefined },
})
const finish: ContentStep = { kind: 'finish', reason: 'tool_calls' }
const details = (...given: JsonObject[]): ContentStep => ({ kind: 'details', details: given })

const typesOf = (items: readonly JsonObject[]) => items.map(({ type }) => type)
const argumentsOf = (items: readonly JsonObject[]) => items.map((item) => item.arguments)
/** Added and done of every item, by place. */
const turnsOf = (events: readonly Event[]) =>
  events
    .filter(({ type }) => type.startsWith('response.output_item'))
    .map(({ type, output_index }) => `${type.split('.').at(-1)} ${output_index}`)

test('reasoning, words and calls are items, one after the other', () => {
  const { items, events } = write([
    { kind: 'reasoning', text: 'Hm.' },
    text('I '),
    text('look.'),
    call(0),
    part(0, '{"a"'),
    part(0, ':1}'),
    finish,
  ])
  expect(items).toEqual([
    {
      id: 'rs_1_0',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'encrypted 1',
    },
    {
      id: 'msg_1_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }],
    },
    {
      id: 'fc_1_2',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'f',
      namespace: 'ns',
      arguments: '{"a":1}',
    },
  ])
  expect(turnsOf(events)).toEqual(['added 0', 'done 0', 'added 1', 'done 1', 'added 2', 'done 2'])
})

test('a call that is whole ends when the next one begins', () => {
  const { items, events } = write([call(0), part(0, '{}'), call(1), part(1, '{"b":2}'), text('So.'), finish])
  expect(argumentsOf(items)).toEqual(['{}', '{"b":2}', undefined])
  const firstOfNext = events.findIndex(
    ({ type, output_index }) => type.endsWith('.delta') && output_index === 1,
  )
  const endOfFirst = events.findIndex(
    ({ type, output_index }) => type.endsWith('item.done') && output_index === 0,
  )
  expect(firstOfNext).toBeGreaterThan(endOfFirst)
})

test('calls that are written in turns wait for each other, with everything that comes between', () => {
  const { items, events } = write([
    call(0),
    call(1),
    part(1, '{"b"'),
    part(0, '{"a"'),
    text('So.'),
    part(1, ':2}'),
    part(0, ':1}'),
    call(2),
    part(2, '{}'),
    finish,
  ])
  expect(typesOf(items)).toEqual(['function_call', 'function_call', 'message', 'function_call'])
  expect(argumentsOf(items)).toEqual(['{"a":1}', '{"b":2}', undefined, '{}'])
  expect(turnsOf(events)).toEqual([0, 1, 2, 3].flatMap((index) => [`added ${index}`, `done ${index}`]))
})

test('calls whose arguments never end are written at the end', () => {
  const { items } = write([call(0), part(0, '{"a"'), call(1), part(1, '{"b"'), call(2), finish])
  expect(argumentsOf(items)).toEqual(['{"a"', '{"b"', ''])
})

test('the input of a custom tool comes as it is decoded', () => {
  const { items, events } = write([call(0, 'patch'), part(0, '{"input":"a\\'), part(0, 'nb"}'), finish])
  expect(items).toEqual([
    {
      id: 'ctc_1_0',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'apply_patch',
      input: 'a\nb',
    },
  ])
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
  expect(deltas.map(({ delta }) => delta)).toEqual(['a', '\nb'])
})

test('a response that ends for its length leaves its last item incomplete', () => {
  const { items } = write([text('I'), call(0), part(0, '{"a'), { kind: 'finish', reason: 'length' }])
  expect(items.map(({ status }) => status)).toEqual(['completed', 'incomplete'])
})

test('the signature of reasoning is in its item', () => {
  const thought = { type: 'reasoning.text', index: 0, origin: 'mark' }
  const { items, signed } = write([
    { kind: 'reasoning', text: 'Hm.' },
    details({ ...thought, text: 'Hm.' }),
    details({ ...thought, signature: 's' }),
    text('Hi'),
    finish,
  ])
  expect(items[0]).toMatchObject({ summary: [{ text: 'Hm.' }], encrypted_content: 'encrypted 1' })
  expect(signed).toEqual([
    { origin: 'mark', details: [{ ...thought, text: 'Hm.', signature: 's' }], calls: {}, content: null },
  ])
})

test('hidden reasoning is an item without a summary', () => {
  const { items } = write([details({ type: 'reasoning.encrypted', index: 0, data: 'x' }), text('Hi'), finish])
  expect(items[0]).toEqual({ id: 'rs_1_0', type: 'reasoning', summary: [], encrypted_content: 'encrypted 1' })
})

test('reasoning that comes only in details is shown, and without a signature has the mark of its provider', () => {
  const { items, signed } = write([
    details({ type: 'reasoning.summary', index: 0, summary: 'Hm.' }),
    text('Hi'),
    finish,
  ])
  expect(items[0]).toEqual({
    id: 'rs_1_0',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'encrypted 1',
  })
  expect(signed).toEqual([{ origin: 'mark', details: [], calls: {}, content: null }])
})

test('the signature of a call is in an item before it, that of a text after it', () => {
  const signature = (thought_signature: string) => ({ extra_content: { google: { thought_signature } } })
  const { items, signed } = write([
    { kind: 'text', text: 'Hi', logprobs: null, signed: signature('t') },
    call(0, 'f', signature('c')),
    part(0, '{}'),
    { kind: 'signed', signed: signature('end') },
    finish,
  ])
  expect(typesOf(items)).toEqual(['message', 'reasoning', 'function_call', 'reasoning'])
  expect(signed).toEqual([
    {
      origin: 'mark',
      details: [],
      calls: { call_0: signature('c').extra_content },
      content: signature('t').extra_content,
    },
    { origin: 'mark', details: [], calls: {}, content: signature('end').extra_content },
  ])
})

test('a refusal after words is the second part of the same message', () => {
  const { items, events, output } = write([text('No'), { kind: 'refusal', text: 'I cannot.' }, finish])
  expect(items).toMatchObject([{ content: [{ text: 'No' }, { type: 'refusal', refusal: 'I cannot.' }] }])
  expect(
    events
      .filter(({ type }) => type.includes('part'))
      .map(({ type, content_index }) => [type, content_index]),
  ).toEqual([
    ['response.content_part.added', 0],
    ['response.content_part.done', 0],
    ['response.content_part.added', 1],
    ['response.content_part.done', 1],
  ])
  expect(output.isRefused).toBe(true)
})

test('citations are in the text, even if they come before it', () => {
  const url_citation = { url: 'https://a', title: 'A', start_index: 0, end_index: 2 }
  const cited: ContentStep = {
    kind: 'annotations',
    annotations: [{ type: 'url_citation', url_citation }, { type: 'x' }],
  }
  const { items, events } = write([cited, text('Hi'), cited, finish])
  const annotation = { type: 'url_citation', ...url_citation }
  expect(items).toMatchObject([{ content: [{ annotations: [annotation, annotation] }] }])
  const added = events.filter(({ type }) => type === 'response.output_text.annotation.added')
  expect(added.map(({ annotation_index }) => annotation_index)).toEqual([0, 1])
})

test('a generated image is an item', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const { items } = write([
    text('Here'),
    { kind: 'images', images: [image, { image_url: 'https://a' }] },
    finish,
  ])
  expect(items[1]).toEqual({
    id: 'ig_1_1',
    type: 'image_generation_call',
    status: 'completed',
    result: 'AAAA',
  })
})

test('a call of the deprecated form is a call', () => {
  const { items } = write([
    { kind: 'function', name: 'f' },
    { kind: 'function_part', text: '{}' },
    { kind: 'finish', reason: 'function_call' },
  ])
  expect(items).toMatchObject([{ type: 'function_call', call_id: 'call_1_0', name: 'f', arguments: '{}' }])
})

test('after the end nothing is taken', () => {
  const { items } = write([text('Hi'), finish, text('more'), call(0)])
  expect(typesOf(items)).toEqual(['message'])
})
