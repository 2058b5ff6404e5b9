import { expect, test } from 'vitest'
import { hasUnsizedParts } from './unsized-prompt.ts'

const messages = [
  { role: 'system', content: 'x' },
  { role: 'user', name: 'a', content: [{ type: 'text', text: 'y', cache_control: { type: 'ephemeral' } }] },
]

test.each([
  [{}],
  [{ top_k: 40, temperature: 1, response_format: { type: 'json_object' }, stop: ['a'], ranking: 'fast' }],
  [{ tools: [{ type: 'function', function: { name: 'f' } }] }],
])('an ordinary request with %j has a size', (fields) => {
  expect(hasUnsizedParts({ model: 'm', messages, ...fields })).toBe(false)
})

test.each([
  [{ documents: [{ text: 'long' }] }],
  [{ context: 'long '.repeat(20) }],
  [{ web_search_options: {} }],
  [{ tools: [{ type: 'web_search' }] }],
  [{ messages: [{ role: 'assistant', content: 'x', reasoning_details: [{}] }] }],
  [{ messages: [{ role: 'user', content: [{ type: 'text', text: 'x', file: { file_id: 'f' } }] }] }],
])('a request with %j has something whose size nobody knows', (fields) => {
  expect(hasUnsizedParts({ model: 'm', messages, ...fields })).toBe(true)
})
