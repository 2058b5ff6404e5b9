import { describe, expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { workThrough } from '../wire/turns.ts'
import { estimateInSteps, estimatePrompt, estimateText, readPrompt } from './token-estimate.ts'

describe('a text counts by the class of its characters', () => {
  test.each([
    ['', 0],
    ['abcd efg', 2],
    ['12345', 2],
    ['{"a":1}\n', Math.ceil(6 / 2.5 + 2 / 4)],
    ['приветы', Math.ceil(7 / 3)],
    ['世界你好', Math.ceil(4 / 1.3)],
    ['ありがとう', Math.ceil(5 / 1.3)],
    ['감사', Math.ceil(2 / 1.3)],
    ['éü', 2],
    ['🌍', 2],
  ])('%j', (text, tokens) => {
    expect(estimateText(text)).toBe(tokens)
  })
})

test('real texts are not underestimated', () => {
  // Counts of o200k_base: 5.4, 3.8 and 1.5 characters per token.
  const english = 'The quick brown fox jumps over the lazy dog, and then it rests under a tall tree. '.repeat(
    20,
  )
  const russian = 'Съешь ещё этих мягких французских булок, да выпей чаю; потом отдохни под деревом. '.repeat(
    20,
  )
  const chinese = '天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。'.repeat(20)
  expect(estimateText(english)).toBeGreaterThan(english.length / 5.4)
  expect(estimateText(russian)).toBeGreaterThan(russian.length / 3.8)
  expect(estimateText(chinese)).toBeGreaterThan(chinese.length / 1.5)
})

test('a prompt is its texts, 4 tokens per message, 3 per request, and its tools', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  expect(estimatePrompt({ messages: [{ role: 'user', content: 'abcd' }] })).toBe(8)
  const parts = [
    { type: 'text', text: 'abcd' },
    { type: 'text', text: 'abcd' },
  ]
  expect(
    estimatePrompt({
      messages: [
        { role: 'user', content: parts },
        { role: 'assistant', content: null },
      ],
    }),
  ).toBe(13)
  expect(estimatePrompt({ messages: [], tools })).toBe(Math.ceil(3 + JSON.stringify(tools).length / 3.5))
  const call = { id: 'x', type: 'function', function: { name: 'abcd', arguments: 'abcd' } }
  expect(
    estimatePrompt({ messages: [{ role: 'assistant', tool_calls: [call], reasoning_content: 'abcd' }] }),
  ).toBe(10)
  const custom = { id: 'x', type: 'custom', custom: { name: 'abcd', input: 'abcd' } }
  expect(estimatePrompt({ messages: [{ role: 'assistant', tool_calls: [custom] }] })).toBe(9)
})

test('an image costs the same however many bytes its data URL has', () => {
  const image = (detail?: string) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(500_000)}`, ...(detail ? { detail } : {}) },
  })
  const ask = (part: object) => estimatePrompt({ messages: [{ role: 'user', content: [part] }] })
  expect(ask(image())).toBe(1107)
  expect(ask(image('low'))).toBe(92)
  expect(ask({ type: 'input_audio', input_audio: { data: 'A'.repeat(500_000), format: 'wav' } })).toBe(1107)
})

test('images and sound of earlier answers count as media', () => {
  const answered = (fields: object) =>
    estimatePrompt({ messages: [{ role: 'assistant', content: null, ...fields }] })
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  expect(answered({ images: [image, image] })).toBe(2207)
  expect(answered({ audio: { id: 'audio_1' } })).toBe(1107)
  expect(answered({ images: [], audio: null })).toBe(7)
})

test('a text of any length counts to its last character, halves of a pair included', () => {
  for (const length of [4095, 4096, 4097, 8192, 10_000]) {
    expect(estimateText('a'.repeat(length))).toBe(Math.ceil(length / 4))
    expect(estimateText(`${'a'.repeat(length)}\ud83c`)).toBe(Math.ceil(length / 4 + 1))
    expect(estimateText(`${'世'.repeat(length)}1`)).toBe(Math.ceil(length / 1.3 + 1 / 2.5))
  }
})

test('a huge text is sampled at head, middle and tail', () => {
  const length = 3 * 1024 * 1024
  expect(estimateText('a'.repeat(length))).toBe(length / 4)
  const mixed = 'a'.repeat(length / 3) + '世'.repeat(length / 3) + '1'.repeat(length / 3)
  const exact = length / 3 / 4 + length / 3 / 1.3 + length / 3 / 2.5
  expect(Math.abs(estimateText(mixed) / exact - 1)).toBeLessThan(0.01)
})

test('anything at all can be estimated', () => {
  for (const messages of [undefined, null, 5, [null], [{ content: [null, 5, {}] }], [{ tool_calls: 'x' }]])
    expect(estimatePrompt({ messages, tools: 'x' })).toBeGreaterThanOrEqual(3)
})

test('a tool described in Chinese counts as much as a message with the same text', () => {
  const said = '图'.repeat(10_000)
  const tools = (description: string) => [{ type: 'function', function: { name: 'f', description } }]
  const inTool = estimatePrompt({ tools: tools(said) }) - estimatePrompt({ tools: tools('') })
  expect(inTool).toBeCloseTo(estimateText(said), -1)
  const ascii = estimatePrompt({ tools: tools('a'.repeat(3500)) })
  expect(ascii - estimatePrompt({ tools: tools('') })).toBe(1000)
})

test('an estimate in steps is the estimate at once, with texts in pieces or whole', async () => {
  const said = 'The quick brown fox. Съешь ещё этих булок. 1234 '.repeat(50)
  const pieces = (text: string) => new LongText([text.slice(0, 100), text.slice(100)])
  const requestOf = (text: unknown) => ({
    messages: [
      { role: 'user', content: text },
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: 'x' } },
        ],
      },
      { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: text } }] },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: text } }],
    prediction: { type: 'content', content: said },
  })
  const whole = requestOf(said)
  for (const request of [whole, requestOf(pieces(said))]) {
    const { tokens, prompt } = await workThrough(estimateInSteps(request), 0)
    expect(tokens).toBe(estimatePrompt(whole))
    expect(prompt.otherTokens).toBeCloseTo(readPrompt(whole).otherTokens)
    expect(prompt.texts.join('')).toBe(readPrompt(whole).texts.join(''))
  }
})
