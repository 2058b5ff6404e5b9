import { expect, test } from 'vitest'
import { findPattern, valuesIn } from './event-pattern.ts'

const names = { text: 'delta', number: 'sequence_number', padding: 'obfuscation' }
const frameOf = (json: string) => `event: response.output_text.delta\ndata: ${json}\n\n`
const learnt =
  '{"type":"t","sequence_number":7,"item_id":"m","delta":"Hello","logprobs":[],"obfuscation":"xy"}'
const pattern = findPattern(frameOf(learnt), 'Hello', names) ?? expect.fail('it has a pattern')

test('a delta that differs in its text, number and padding has the values that it would be parsed to', () => {
  const frame = frameOf(
    '{"type":"t","sequence_number":1024,"item_id":"m","delta":" – 😀","logprobs":[],"obfuscation":""}',
  )
  const { text, numberAt, numberEnd } = valuesIn(frame, pattern) ?? expect.fail('it matches')
  expect(text).toBe(' – 😀')
  expect(frame.slice(numberAt, numberEnd)).toBe('1024')
})

test.each([
  ['escapes in its text', learnt.replace('Hello', '\\n')],
  ['no text', learnt.replace('Hello', '')],
  ['another item', learnt.replace('"m"', '"n"')],
  ['a field more', learnt.replace('"xy"', '"xy","new":1')],
  ['a padding that is no text', learnt.replace('"xy"', 'null')],
  ['a number that is none', learnt.replace('7', 'null')],
  ['a number with a fraction', learnt.replace('7', '7.5')],
  ['its fields in another order', learnt.replace('"type":"t",', '').replace('}', ',"type":"t"}')],
])('a delta with %s does not match', (_, json) => {
  expect(valuesIn(frameOf(json), pattern)).toBeUndefined()
})

test('part of a frame, and two of them, do not match', () => {
  const frame = frameOf(learnt)
  for (let at = 0; at < frame.length; at += 1) expect(valuesIn(frame.slice(0, at), pattern)).toBeUndefined()
  expect(valuesIn(frame + frame, pattern)).toBeUndefined()
  expect(valuesIn(`${frame}\n`, pattern)).toBeUndefined()
})

test.each([
  ['whose text is named twice', learnt.replace('"m"', '"m","x":{"delta":"Hello"}')],
  ['whose text is elsewhere', learnt.replace('"Hello"', '"Other"')],
  ['whose text has escapes', learnt.replace('Hello', 'Hel\\u006co')],
  ['whose number is none', learnt.replace('7', '-7')],
  ['without a text', '{"type":"t","sequence_number":7}'],
])('a delta %s gives no pattern', (_, json) => {
  expect(findPattern(frameOf(json), 'Hello', names)).toBeUndefined()
})

test('a delta without a number and padding has a pattern, too', () => {
  const json = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}'
  const own = findPattern(frameOf(json), 'a', { text: 'text' }) ?? expect.fail('it has a pattern')
  expect(valuesIn(frameOf(json.replace('"a"', '" b"')), own)).toEqual({
    text: ' b',
    numberAt: -1,
    numberEnd: -1,
  })
})
