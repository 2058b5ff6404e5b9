import { expect, test } from 'vitest'
import type { JsonObject } from '../wire/json-fields.ts'
import { workThrough } from '../wire/turns.ts'
import { unreadBytes } from './unread-bytes.ts'

const bytesUnread = (request: JsonObject) => workThrough(unreadBytes(request), 0)

const hello = { role: 'user', content: 'Hello' }
const call = {
  id: 'call_0123456789abcdefghijklmn',
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
}

test('an ordinary request has nothing but its text, however long that is and however it is written', async () => {
  const parameters = {
    ...{
      model: 'a/b',
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
      n: 2,
      user: 'u',
    },
    ...{ stop: ['END'], metadata: { k: 'v'.repeat(500) }, logit_bias: { 50256: -100 }, seed: 1 },
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    tools: [{ type: 'function', function: { name: 'f', description: 'd'.repeat(5000), parameters: {} } }],
    prediction: { type: 'content', content: 'p'.repeat(5000) },
  }
  const conversations = [
    [hello],
    [{ role: 'user', content: '\n"Привет" \u{1f600}\t'.repeat(10_000) }],
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
    [hello, { role: 'assistant', content: null, tool_calls: [call, call] }, toolMessage(), toolMessage()],
    Array.from({ length: 100 }, () => ({ role: 'assistant', content: '', name: 'bot' })),
  ]
  for (const messages of conversations) expect(await bytesUnread({ ...parameters, messages })).toBe(0)
})

test('what a model may read besides its text is counted, wherever it lies', async () => {
  const long = 'word '.repeat(1000)
  const unread = [
    { messages: [hello], documents: [{ text: long }] },
    { messages: [hello], documents: [long], max_tokens: 5 },
    { messages: [{ ...hello, reasoning_details: [{ text: long }] }] },
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: long } }] }] },
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: long } }] }] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: long } }] }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', title: long }] }] },
    { messages: [{ role: 'assistant', tool_calls: [{ ...call, extra_content: long }] }] },
  ]
  for (const request of unread) {
    const bytes = await bytesUnread({ model: 'a/b', ...request })
    expect(bytes).toBeGreaterThan(long.length - 250)
    expect(bytes).toBeLessThan(long.length + 100)
  }
  expect(
    await bytesUnread({ model: 'a/b', messages: [hello], documents: ['я'.repeat(1000)] }),
  ).toBeGreaterThan(2000)
})

test('no other message hides what one of them carries', async () => {
  const file = { role: 'user', content: [{ type: 'file', file: { file_data: 'x'.repeat(80_000) } }] }
  const chat = Array.from({ length: 600 }, () => ({ role: 'user', content: 'ok' }))
  expect(await bytesUnread({ model: 'a/b', messages: [...chat, file] })).toBe(
    await bytesUnread({ model: 'a/b', messages: [file] }),
  )
})

function toolMessage() {
  return { role: 'tool', tool_call_id: 'chatcmpl-tool-0123456789abcdef0123456789abcdef', content: '{"b":2}' }
}
