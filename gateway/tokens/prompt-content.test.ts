import { describe, expect, test } from 'vitest'
import { contentOf } from './prompt-content.ts'

const user = (content: unknown, fields: object = {}) => ({ messages: [{ role: 'user', content, ...fields }] })
const outsideOf = (request: object) => contentOf({ model: 'a/m', ...request }, 100).outside

describe('what is text of the body counts by its bytes', () => {
  test.each([
    ['a text', user('Hi')],
    ['parts that are text', user([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }])],
    ['fields that some provider reads', user('Hi', { reasoning_details: [{ type: 'x', data: 'y' }] })],
    ['ids', user('Hi', { tool_call_id: 'x'.repeat(400_000) })],
    [
      "a tool's call and its result",
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f' } }] },
          { role: 'tool', tool_call_id: 'c', content: 'x' },
        ],
      },
    ],
  ])('%s', (_case, request) => {
    expect(outsideOf(request)).toBeNull()
  })

  test('with what a template adds, more where it describes tools', () => {
    expect(contentOf(user('Hi'), 100).bytes).toBe(356)
    expect(contentOf({ ...user('Hi'), tools: [] }, 100).bytes).toBe(1_124)
  })
})

describe('what is outside of the body is named by its place', () => {
  test.each([
    ['an image', user([{ type: 'image_url', image_url: { url: 'x' } }]), 'messages[0].content[0]'],
    [
      'an image next to an empty text',
      user([{ type: 'image_url', image_url: { url: 'x' }, text: '' }]),
      'messages[0].content[0]',
    ],
    [
      'an image that calls itself text',
      user([{ type: 'text', text: '', image_url: { url: 'x' } }]),
      'messages[0].content[0]',
    ],
    ['a file', user(['x', { type: 'file', file: { file_id: 'x' } }]), 'messages[0].content[0]'],
    ['files of a message', user('Hi', { file_ids: ['x'] }), 'messages[0].file_ids'],
    [
      'sound that a model made',
      { messages: [{ role: 'assistant', audio: { id: 'x' } }] },
      'messages[0].audio',
    ],
    ['images that a model made', { messages: [{ role: 'assistant', images: [] }] }, 'messages[0].images'],
    ['a kind of part that nobody knows', user([{ type: 'document', text: 'Hi' }]), 'messages[0].content[0]'],
    [
      'a call that a provider answered',
      { messages: [{ role: 'assistant', tool_calls: [{ type: 'file_search' }] }] },
      'messages[0].tool_calls[0]',
    ],
  ])('%s', (_case, request, place) => {
    expect(outsideOf(request)).toBe(place)
  })
})

test('unknown parameters are named, whatever their value', () => {
  const unknownOf = (fields: object) => contentOf({ ...user('Hi'), ...fields }, 1).unknownParameters
  expect(unknownOf({ temperature: 1, top_k: 5, min_p: 0, stop: ['x'], metadata: {} })).toEqual([])
  expect(unknownOf({ knowledge_base: 'kb', search: true, file_ids: [] })).toEqual([
    'knowledge_base',
    'search',
    'file_ids',
  ])
  expect(unknownOf({ extra_body: { google: { thinking_config: { thinking_budget: 1 } } } })).toEqual([])
  expect(unknownOf({ extra_body: { google: { cached_content: 'x' } } })).toEqual(['extra_body'])
  expect(unknownOf({ extra_body: { google: { thinking_config: {} }, n_predict: 9 } })).toEqual(['extra_body'])
})
