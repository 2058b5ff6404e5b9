import { expect, test } from 'vitest'
import { createToolNames } from '../../tool-names.ts'
import { createEventReader } from './stream.ts'

const context = { names: createToolNames([], { pattern: /\w/, lengthMax: 64 }), own: 'mark' }
const candidate = (parts: readonly object[], fields: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, ...fields }],
})

/** What one reader makes of these events. */
function read(...events: readonly (object | string)[]) {
  const reader = createEventReader(context)
  return events.map((event) => reader.read(typeof event === 'string' ? event : JSON.stringify(event)))
}

test('one event is one chunk, with thoughts, text and calls', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } })
  const events = read(
    candidate([{ text: 'hm', thought: true }, { text: 'Hi' }, call('f'), call('g')]),
    candidate([{ ...call('h'), thoughtSignature: 's' }], { finishReason: 'STOP' }),
  )
  const toolCall = (index: number, name: string) => ({
    index,
    type: 'function',
    function: { name, arguments: '{}' },
  })
  const signed = { extra_content: { google: { thought_signature: 's' }, gateway: { origin: 'mark' } } }
  expect(events).toEqual([
    {
      kind: 'chunk',
      chunk: {
        choices: [
          {
            index: 0,
            delta: {
              content: 'Hi',
              reasoning_content: 'hm',
              tool_calls: [toolCall(0, 'f'), toolCall(1, 'g')],
            },
            finish_reason: null,
          },
        ],
      },
      usage: undefined,
    },
    {
      kind: 'chunk',
      chunk: {
        choices: [
          { index: 0, delta: { tool_calls: [{ ...toolCall(2, 'h'), ...signed }] }, finish_reason: 'stop' },
        ],
      },
      usage: undefined,
    },
  ])
})

test('calls are numbered for each candidate', () => {
  const parts = [{ functionCall: { name: 'f' } }]
  const two = { candidates: [{ content: { parts } }, { index: 1, content: { parts } }] }
  const [, second] = read(two, two)
  expect(second).toMatchObject({
    chunk: {
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 1 }] } },
        { index: 1, delta: { tool_calls: [{ index: 1 }] } },
      ],
    },
  })
})

test('a signature on its own is one of the delta', () => {
  const [event] = read(candidate([{ text: '', thoughtSignature: 's' }]))
  const delta = { content: '', extra_content: { google: { thought_signature: 's' } } }
  expect(event).toMatchObject({ chunk: { choices: [{ delta }] } })
})

test('each usage counts the response so far; a count that an event leaves out is that of an earlier one', () => {
  const events = read(
    { ...candidate([{ text: 'a' }]), usageMetadata: { promptTokenCount: 10, cachedContentTokenCount: 4 } },
    candidate([{ text: 'b' }]),
    { usageMetadata: { candidatesTokenCount: 3, thoughtsTokenCount: 2, promptTokenCount: null } },
  )
  expect(events.map((event) => event.kind === 'chunk' && event.usage)).toMatchObject([
    { prompt_tokens: 10, completion_tokens: 0 },
    undefined,
    { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
  ])
})

test('a blocked prompt is an empty choice that was filtered', () => {
  const [event] = read({ promptFeedback: { blockReason: 'OTHER' }, usageMetadata: { promptTokenCount: 9 } })
  expect(event).toMatchObject({
    chunk: { choices: [{ index: 0, finish_reason: 'content_filter' }] },
    usage: { prompt_tokens: 9 },
  })
})

test('a call that the model got wrong fails a response without content, and ends one with some', () => {
  const end = candidate([], { finishReason: 'MALFORMED_FUNCTION_CALL' })
  expect(read(end)).toMatchObject([
    { kind: 'failed', failure: { result: 'malformed_call', recovery: 'anywhere' } },
  ])
  const [, last] = read(candidate([{ text: 'Hi' }]), end)
  expect(last).toMatchObject({ chunk: { choices: [{ finish_reason: 'stop' }] } })
})

test.each([
  ['an error', { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x' } }, 'overloaded'],
  ['a listed error', [{ error: { code: 500, status: 'INTERNAL', message: 'x' } }], 'failed'],
  ['no JSON', '{', 'bad_answer'],
])('%s in a stream is a failure', (_, event, kind) => {
  expect(read(event)).toMatchObject([{ kind: 'failed', failure: { kind } }])
})
