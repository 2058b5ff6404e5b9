import { expect, test } from 'vitest'
import { createToolNames, type ToolNameRule } from './tool-names.ts'

const rule: ToolNameRule = { pattern: /[\w-]/, lengthMax: 64 }

test('allowed names stay', () => {
  const names = ['get_weather', 'a', '0-9', 'a'.repeat(64)]
  const { sent, original } = createToolNames(names, rule)
  expect(names.map(sent)).toEqual(names)
  expect(names.map(original)).toEqual(names)
})

test.each(['a.b', 'a/b', 'a b', '', 'weather in Москва', '🌦', 'a'.repeat(65), `${'a.'.repeat(5000)}z`])(
  'another name becomes an allowed one, the same in every request, and comes back: %s',
  (name) => {
    const { sent, original } = createToolNames([name, 'other'], rule)
    expect(sent(name)).toMatch(/^[\w-]{1,64}$/)
    expect(createToolNames(['x', name], rule).sent(name)).toBe(sent(name))
    expect(original(sent(name))).toBe(name)
  },
)

test('no two names become one, and none becomes a name that another has', () => {
  const first = createToolNames(['a.b'], rule).sent('a.b')
  const names = [
    'a.b',
    'a/b',
    'a_b',
    first,
    ...Array.from({ length: 200 }, (_, at) => `${'x'.repeat(80)}${at}`),
  ]
  const { sent, original } = createToolNames(names, rule)
  expect(new Set(names.map(sent)).size).toBe(names.length)
  expect(sent(first)).toBe(first)
  expect(names.map((name) => original(sent(name)))).toEqual(names)
})

test('a name that the request did not declare is mapped too', () => {
  const { sent, original } = createToolNames([], rule)
  expect(original(sent('a.b'))).toBe('a.b')
  expect(original('never_sent')).toBe('never_sent')
})

test('the first character may have its own rule', () => {
  const { sent } = createToolNames(['1st', 'first'], { ...rule, firstPattern: /[A-Za-z_]/ })
  expect(sent('first')).toBe('first')
  expect(sent('1st')).toMatch(/^_1st_/)
  expect(sent('1'.repeat(100))).toHaveLength(64)
})
