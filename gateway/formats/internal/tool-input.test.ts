import { expect, test } from 'vitest'
import { createToolInput } from './tool-input.ts'

/** The pieces of the input that pieces of the arguments give, and all of it. */
function read(pieces: readonly string[]) {
  const input = createToolInput()
  const shown = pieces.map((piece) => input.push(piece))
  const last = input.end()
  return { shown, last, whole: shown.join('') + last }
}

const texts = [
  '',
  'plain',
  'two\nlines "quoted" \\ and \t',
  'é – 日本 – 😀😀',
  '*** Begin Patch\n+{"a": [1]}\n',
  '\u0000',
]

test.each(texts)('the input %j comes whole, wherever its arguments are cut', (text) => {
  for (const written of [JSON.stringify({ input: text }), ` { "input" :\n${escaped(text)} } `]) {
    expect(read([written]).whole).toBe(text)
    expect(read(written.split('')).whole).toBe(text)
    for (let at = 0; at < written.length; at += 1)
      expect(read([written.slice(0, at), written.slice(at)]).whole).toBe(text)
  }
})

/** Every character as an escape. */
function escaped(text: string): string {
  const units = text.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `"${units.join('')}"`
}

test('the input is returned as it comes, and no piece ends within a character', () => {
  expect(read(['{"inp', 'ut":"ab', 'c\\', 'nd', '\\ud83d', '\\ude00"', '}'])).toEqual({
    shown: ['', 'ab', 'c', '\nd', '', '😀', ''],
    last: '',
    whole: 'abc\nd😀',
  })
})

test.each([
  ['{"patch":"text"}', 'text'],
  ['{"why":"because","input":"text"}', 'text'],
  ['"text"', 'text'],
  ['*** Begin Patch', '*** Begin Patch'],
  ['{"a":1}', '{"a":1}'],
  ['[1]', '[1]'],
  ['', ''],
  ['{"input":"text","more":{"a":"b"}}', 'text'],
  ['{"input":"cut', 'cut'],
  ['{"input":"cut\\u00', 'cut'],
])('arguments that no schema allows, %s, are the input %j', (written, input) => {
  expect(read([written]).whole).toBe(input)
  expect(read(written.split('')).whole).toBe(input)
})
