import { expect, test } from 'vitest'
import { findTemplate, textIn } from './content-template.ts'

const chunk = (content: string, rest = '"finish_reason":null') =>
  `{"id":"x","choices":[{"index":0,"delta":{"content": "${content}"},${rest}}]}`

test('a chunk that differs in nothing but its text gives that text', () => {
  const template = findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template')
  for (const text of ['there', ' ', 'я\u2028😀', ',{}:']) expect(textIn(chunk(text), template)).toBe(text)
})

test('a text that JSON writes otherwise, no text, or anything else that differs has to be parsed', () => {
  const template = findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template')
  for (const data of [chunk(''), chunk('a\\n'), chunk('a","refusal":"no'), chunk('a\tb')])
    expect(textIn(data, template), data).toBeUndefined()
  expect(textIn(chunk('Hi', '"finish_reason":"stop"'), template)).toBeUndefined()
  expect(textIn('', template)).toBeUndefined()
  const { before, after } = template
  expect(textIn(before.slice(0, -1) + after, template)).toBeUndefined()
})

test('where it is not plain which text is meant there is no template', () => {
  const twice = '{"content":"Hi","choices":[{"delta":{"content":"Hi"}}]}'
  const escaped = '{"choices":[{"delta":{"content":"\\u0048i"}}]}'
  const escapedElsewhere = '{"x":{"content":"Hi"},"choices":[{"delta":{"c\\u006fntent":"Hi"}}]}'
  for (const data of [twice, escaped, escapedElsewhere, chunk('Hi there')])
    expect(findTemplate(data, 'Hi'), data).toBeUndefined()
})
