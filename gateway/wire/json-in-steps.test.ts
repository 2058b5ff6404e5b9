import { expect, test } from 'vitest'
import { findExactJson } from './json-fields.ts'
import { findObjectInSteps } from './json-in-steps.ts'

function find(text: string) {
  const steps = findObjectInSteps(text)
  for (let count = 1; ; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return { value, count }
  }
}

const list = (item: string, count: number) => `{"list":[${Array.from({ length: count }, () => item).join()}]}`

test.each([
  ['a short text', '{"a":[1,{"b":"c"}],"d":12345678901234567890}'],
  ['a long text', `{"a":${JSON.stringify('a "text"\n'.repeat(50_000))}}`],
  ['many numbers', list('1.5', 10_000)],
  ['many long numbers', list('0.12345678901234567', 10_000)],
  ['one long number among many', list('1', 10_000).replace('[1', '[1e5')],
])('%s is read exactly', (_name, text) => {
  expect(JSON.stringify(find(text).value)).toBe(JSON.stringify(findExactJson(text)))
})

test('what takes long is read in steps', () => {
  expect(find(list('0.12345678901234567', 50_000)).count).toBeGreaterThan(3)
  expect(find('{"a":1}').count).toBe(1)
})

test.each([
  ['a list', '[1]'],
  ['no JSON', '{"a":'],
  ['no JSON, and long', list('1e5', 5_000).slice(0, -1)],
  ['a text', '"a"'],
  ['nested too deep', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`],
  ['nested too deep, and long', `{"a":${'['.repeat(100_000)}1e5${']'.repeat(100_000)}}`],
])('%s is no object', (_name, text) => {
  expect(find(text).value).toBeUndefined()
})
