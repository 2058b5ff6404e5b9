import { expect, test } from 'vitest'
import { JsonEnd } from './json-end.ts'

function endsAt(text: string): number | undefined {
  const end = new JsonEnd()
  for (const [at, unit] of text.split('').entries()) {
    end.add(unit)
    if (end.isReached()) return at + 1
  }
  return undefined
}

test.each([
  ['{}', ''],
  ['{"a":{"b":[1,{"c":"}"}]}}', ' '],
  ['{"a":"\\"}"}', '{}'],
  ['{"a":"\\\\"}', '}'],
  [' [1,[2]]', ']'],
])('%s is whole at its last bracket', (json, rest) => {
  expect(endsAt(json + rest)).toBe(json.length)
  const whole = new JsonEnd()
  whole.add(json)
  expect(whole.isReached()).toBe(true)
})

test.each(['', '1', '"{}"', '{"a":"}', '{"a":"\\', '[{}', '{"a":{}'])('%j is not whole', (json) => {
  expect(endsAt(json)).toBeUndefined()
  const whole = new JsonEnd()
  whole.add(json)
  expect(whole.isReached()).toBe(false)
})

test('an escape that is cut in two is one', () => {
  const end = new JsonEnd()
  for (const piece of ['{"a":"\\', '"}', '"}']) {
    expect(end.isReached()).toBe(false)
    end.add(piece)
  }
  expect(end.isReached()).toBe(true)
})
