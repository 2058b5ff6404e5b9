import { expect, test } from 'vitest'
import type { JsonObject } from '../../wire/json-fields.ts'
import { facts, usage } from './responses.fixture.ts'
import { ResponsesRelay } from './responses-relay.ts'

const create = () => new ResponsesRelay({ facts, encrypt: () => 'encrypted', previousId: null })

const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'c',
  name: 'f',
  status: 'in_progress',
  arguments: '',
}
const thought = { type: 'reasoning', id: 'rs_1', summary: [] }
const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})
const done = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
})
const said = (delta: string) => ({ type: 'response.output_text.delta', output_index: 0, delta })
const argued = (delta: string) => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta })
const words = (text: string) => ({
  ...message,
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

/** The output at the end of a stream whose last frames did not leave. */
function cut(left: readonly JsonObject[], unsent: readonly JsonObject[]): readonly JsonObject[] {
  const relay = create()
  const writeAll = (events: readonly JsonObject[]) =>
    events.map((event) => relay.write(event, undefined)).join('')
  const written = writeAll([{ type: 'response.created', response: { output: [] } }, ...left])
  relay.discard(writeAll(unsent))
  const frames = written + relay.endAtLimit() + relay.end(usage, '0.5')
  const events = frames
    .split('\n\n')
    .filter((frame) => frame.startsWith('event: '))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  const closed = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  const { output } = events.at(-1).response
  expect(output).toEqual(closed)
  return output
}

const open = { status: 'incomplete' }

test('the output of a stream that is cut has only what has left', () => {
  expect(cut([added(0, message), said('Hel')], [said('lo '), said('there')])).toMatchObject([
    { ...open, content: [{ text: 'Hel' }] },
  ])
  expect(cut([added(0, message), said('Hel')], [said('lo'), done(0, words('Hello'))])).toMatchObject([
    { ...open, content: [{ text: 'Hel' }] },
  ])
  expect(
    cut(
      [added(0, message), said('Hi'), done(0, words('Hi'))],
      [added(1, message), { ...said('x'), output_index: 1 }],
    ),
  ).toEqual([words('Hi')])
  expect(
    cut([added(0, call), argued('{"a"')], [argued(':1}'), done(0, { ...call, arguments: '{"a":1}' })]),
  ).toMatchObject([{ ...open, arguments: '{"a"' }])
  expect(
    cut([added(0, thought)], [done(0, { ...thought, summary: [{ text: 'Hm' }], encrypted_content: 'x' })]),
  ).toEqual([thought])
})
