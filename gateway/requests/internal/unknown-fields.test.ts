import { expect, test } from 'vitest'
import { unknownInBlock, unknownInItem } from './unknown-fields.ts'

const url = 'https://example.com/x'

test('a field that is not known is named, in an item, a part, a block, a source and a block within', () => {
  const item = { role: 'user', x_item: url, content: [{ type: 'input_text', text: 'Hi', x_part: url }] }
  expect([...unknownInItem('message', item, 'input[0]')]).toEqual([
    { name: 'input.message.x_item', path: 'input[0].x_item' },
    { name: 'input.input_text.x_part', path: 'input[0].content[0].x_part' },
  ])
  const inner = { type: 'text', text: 'Hi', x_inner: url }
  const block = {
    type: 'document',
    x_block: url,
    source: { type: 'content', x_source: url, content: [inner] },
  }
  expect([...unknownInBlock(block, 'messages', 'messages[0].content[0]')]).toEqual([
    { name: 'messages.document.x_block', path: 'messages[0].content[0].x_block' },
    { name: 'messages.document.source.x_source', path: 'messages[0].content[0].source.x_source' },
    { name: 'messages.text.x_inner', path: 'messages[0].content[0].source.content[0].x_inner' },
  ])
})

test('what SDKs send back of a response is known, and so is a field without a value', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    phase: 'final_answer',
    content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [], x_unset: null }],
  }
  expect([...unknownInItem('message', message, 'input[0]')]).toEqual([])
  const use = { type: 'tool_use', id: 'c', name: 'f', input: { any: url }, caller: { type: 'direct' } }
  expect([...unknownInBlock(use, 'messages', 'messages[0].content[0]')]).toEqual([])
})

test('of a part with a thousand unknown fields one is named', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x_${index}`, url]))
  expect([...unknownInBlock({ type: 'text', text: '', ...many }, 'system', 'system[0]')]).toHaveLength(1)
})
