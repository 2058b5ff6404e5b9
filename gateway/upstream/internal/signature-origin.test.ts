import { expect, test } from 'vitest'
import { markedContent, withoutForeignSignatures } from './signature-origin.ts'

const unmarked = { google: { thought_signature: 's' } }
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
const said = (extra_content: object) => [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: null, extra_content, tool_calls: [{ ...call, extra_content }, call] },
]
const bare = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: null, tool_calls: [call, call] },
]

test.each([
  ['that the provider made itself', markedContent(unmarked, 'own'), 'removed' as const],
  ['without a mark, for the first provider', unmarked, 'kept' as const],
])('signatures %s stay in the very same list', (_, content, rule) => {
  const messages = said(content)
  expect(withoutForeignSignatures(messages, { own: 'own', unmarked: rule })).toBe(messages)
})

test.each([
  ['of another provider', markedContent(unmarked, 'other'), 'kept' as const],
  ['without a mark, after a fallback', unmarked, 'removed' as const],
])('signatures %s are removed', (_, content, rule) => {
  expect(withoutForeignSignatures(said(content), { own: 'own', unmarked: rule })).toEqual(bare)
})

test('signed reasoning returns to its provider only, without a mark to the first one', () => {
  const detail = (origin?: string) => ({ type: 'reasoning.text', signature: 's', ...(origin && { origin }) })
  const spoken = (...details: readonly object[]) => [
    { role: 'assistant', content: 'Hi', reasoning_details: details },
  ]
  const messages = spoken(detail('own'), detail('other'), detail())
  const kept = { own: 'own', unmarked: 'kept' } as const
  expect(withoutForeignSignatures(messages, kept)).toEqual(spoken(detail('own'), detail()))
  expect(withoutForeignSignatures(messages, { ...kept, unmarked: 'removed' })).toEqual(spoken(detail('own')))
  expect(withoutForeignSignatures(spoken(detail('own')), kept)).toEqual(spoken(detail('own')))
  expect(withoutForeignSignatures(spoken(detail('other')), kept)).toEqual([
    { role: 'assistant', content: 'Hi' },
  ])
})

test('a conversation without any is the very same list', () => {
  expect(withoutForeignSignatures(bare, { own: 'own', unmarked: 'removed' })).toBe(bare)
})
