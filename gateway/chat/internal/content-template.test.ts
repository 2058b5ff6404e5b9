import { describe, expect, test } from 'vitest'
import {
  eventTemplateOf,
  findCountedTemplate,
  findTemplate,
  textIn,
  textInCounted,
  textInEvent,
} from './content-template.ts'

const chunk = (content: string, rest = '"finish_reason":null') =>
  `{"id":"x","choices":[{"index":0,"delta":{"content": "${content}"},${rest}}]}`

test('a chunk that differs in nothing but its text gives that text', () => {
  const template = findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template')
  for (const text of ['there', ' ', 'я\u2028😀', ',{}:']) expect(textIn(chunk(text), template)).toBe(text)
})

test('a chunk without text, with escapes in it, or with any other difference is parsed', () => {
  const template = findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template')
  for (const data of [chunk(''), chunk('a\\n'), chunk('a","refusal":"no'), chunk('a\tb')])
    expect(textIn(data, template), data).toBeUndefined()
  expect(textIn(chunk('Hi', '"finish_reason":"stop"'), template)).toBeUndefined()
  expect(textIn('', template)).toBeUndefined()
  const { before, after } = template
  expect(textIn(before.slice(0, -1) + after, template)).toBeUndefined()
})

test('there is no template if it is ambiguous which text is meant', () => {
  const twice = '{"content":"Hi","choices":[{"delta":{"content":"Hi"}}]}'
  const escaped = '{"choices":[{"delta":{"content":"\\u0048i"}}]}'
  const escapedElsewhere = '{"x":{"content":"Hi"},"choices":[{"delta":{"c\\u006fntent":"Hi"}}]}'
  for (const data of [twice, escaped, escapedElsewhere, chunk('Hi there')])
    expect(findTemplate(data, 'Hi'), data).toBeUndefined()
})

const event = (data: string) => Buffer.from(`data: ${data}\n\n`)

test('bytes that are one such event, framed as usual, give the same text as its data', () => {
  const template = eventTemplateOf(findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template'))
  for (const text of ['there', ' ', 'я\u2028😀', ',{}:'])
    expect(textInEvent(event(chunk(text)), template)).toBe(text)
})

test('an event with more, fewer or other bytes is parsed', () => {
  const template = eventTemplateOf(findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template'))
  const whole = event(chunk('there'))
  const others = [
    Buffer.alloc(0),
    event(chunk('')),
    event(chunk('a\\n')),
    event(chunk('a","refusal":"no')),
    event(chunk('Hi', '"finish_reason":"stop"')),
    Buffer.from(`data:${chunk('there')}\n\n`),
    Buffer.from(`data: ${chunk('there')}\r\n\r\n`),
    Buffer.concat([whole, whole]),
    Buffer.concat([whole, Buffer.from('d')]),
    whole.subarray(0, -1),
    whole.subarray(1),
  ]
  for (const bytes of others) expect(textInEvent(bytes, template), bytes.toString()).toBeUndefined()
})

test('bytes that are no UTF-8 read as they do everywhere else', () => {
  const template = eventTemplateOf(findTemplate(chunk('Hi'), 'Hi') ?? expect.fail('no template'))
  const broken = Buffer.from(event(chunk('aXb')).toString('latin1').replace('X', '\xff'), 'latin1')
  expect(textInEvent(broken, template)).toBe('a\ufffdb')
})

describe('chunks with the counts so far', () => {
  const counted = (text: string, counts: string) =>
    `{"parts":[{"text":"${text}"}],"counts":{${counts}},"id":"1"}`
  const learn = (counts: string) => findCountedTemplate(counted('Hi', counts), 'Hi', 'text', 'counts')
  const counts = '"all":10,"of":[{"kind":"TEXT","all":7}],"sum":3'
  const template = learn(counts) ?? expect.fail('no template')

  test('give the same text, whatever the numbers', () => {
    for (const text of ['there', ' ', '7', 'я\u2028😀', ',{}:'])
      expect(textInCounted(counted(text, counts.replace('10', '12345').replace('3', '0')), template)).toBe(
        text,
      )
  })

  test.each([
    ['another count', counted('there', `${counts},"more":1`)],
    ['a count less', counted('there', '"all":10,"of":[{"kind":"TEXT","all":7}]')],
    ['another word in the counts', counted('there', counts.replace('TEXT', 'IMAGE'))],
    ['another number elsewhere', counted('there', counts).replace('"id":"1"', '"id":"2"')],
    ['a text that JSON writes in another way', counted('a\\n', counts)],
    ['no text', counted('', counts)],
    ['more behind it', `${counted('there', counts)} `],
    ['a digit behind it', `${counted('there', counts)}7`],
    ['less than that', counted('there', counts).slice(0, -1)],
  ])('have to be parsed with %s', (_what, data) => {
    expect(textInCounted(data, template)).toBeUndefined()
  })

  test('have no template if it is ambiguous where the counts are', () => {
    expect(learn('"counts":{"all":1}')).toBeUndefined()
    expect(findCountedTemplate(counted('Hi', ''), 'Hi', 'text', 'usage')).toBeUndefined()
    expect(findCountedTemplate('{"counts":{"all":1},"text":"Hi"}', 'Hi', 'text', 'counts')).toBeUndefined()
  })

  test('match without a number, too', () => {
    expect(textInCounted(counted('there', '"a":"b"'), learn('"a":"b"') ?? expect.fail())).toBe('there')
  })
})
