import { expect, test } from 'vitest'
import { type QuirksName, quirksNames } from '#core/catalog/catalog-document'
import { LongText, type Text } from '../../wire/long-text.ts'
import { createDialect } from '../dialect.ts'
import { adaptMessages, withSchemaInPrompt } from './openai-messages.ts'

function adapt(messages: unknown, quirks: QuirksName): unknown {
  const provider = { api: 'OpenAI', baseUrl: 'http://10.0.0.1/v1', quirks } as const
  const parameters = { drop: [], rename: {}, defaults: {} }
  const dialect = createDialect(provider, 'm', {
    model: 'a/m',
    type: 'chat',
    parameters,
    maxOutputTokens: null,
  })
  return adaptMessages(messages, dialect.quirks)
}

const plain = [
  { role: 'system', content: 'Be brief' },
  { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: '2' },
]

test.each(quirksNames)('%s gets the very list of a conversation that has nothing to change', (kind) => {
  expect(adapt(plain, kind)).toBe(plain)
})

test.each(quirksNames)('%s gets a text in pieces as it gets a string', (kind) => {
  const conversation = (text: Text) => [
    { role: 'system', content: text, name: text },
    { role: 'developer', content: [{ type: 'text', text, cache_control: {} }] },
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'text', text: 'more' },
      ],
    },
    { role: 'assistant', content: text, reasoning_content: text, tool_calls: [{ index: 0, id: text }] },
  ]
  const pieces = adapt(conversation(new LongText(['one ', 'text'])), kind)
  const whole = adapt(conversation('one text'), kind)
  expect(JSON.stringify(pieces)).toBe(JSON.stringify(whole))
  expect(JSON.stringify(withSchemaInPrompt(pieces, {}))).toBe(JSON.stringify(withSchemaInPrompt(whole, {})))
})

test('only the messages that have something to change are made again', () => {
  const named = { role: 'user', name: 'planner', content: 'Hi' }
  const adapted = adapt([...plain, named], 'mistral')
  expect(adapted).toEqual([...plain, { role: 'user', content: 'Hi' }])
  expect(Array.isArray(adapted) && adapted.slice(0, -1).every((message, at) => message === plain[at])).toBe(
    true,
  )
})

test('a kind that takes everything gets the very list, whatever is in it', () => {
  const marked = [
    { role: 'user', name: 'planner', content: 'Hi', cache_control: { type: 'ephemeral' }, x: 1 },
  ]
  expect(adapt(marked, 'generic')).toBe(marked)
})
