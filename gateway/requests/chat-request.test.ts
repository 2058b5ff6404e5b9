import { expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { outputTokensMax, parseChatRequest } from './chat-request.ts'
import { parseJsonBody } from './json-body.ts'

const user = { role: 'user', content: 'Hi' }
const valid = { model: 'openai/gpt-4o', messages: [user] }

function refusalOf(body: { readonly [field: string]: unknown }) {
  const parsed = parseChatRequest(body)
  return 'refusal' in parsed ? [parsed.refusal.code, parsed.refusal.param, parsed.refusal.message] : undefined
}

function requestOf(body: { readonly [field: string]: unknown }) {
  const parsed = parseChatRequest(body)
  if ('refusal' in parsed) throw new Error(parsed.refusal.message)
  return parsed.request
}

test('an invalid field is rejected with its path and a sentence about what is allowed', () => {
  const faults: readonly [body: object, param: string, problem: string][] = [
    [{ messages: [user] }, 'model', 'is required'],
    [{ ...valid, model: 5 }, 'model', 'must be a non-empty string'],
    [{ ...valid, model: '' }, 'model', 'must be a non-empty string'],
    [{ model: 'a/b' }, 'messages', 'is required'],
    [{ ...valid, messages: [] }, 'messages', 'must have at least 1 item'],
    [{ ...valid, messages: 'Hi' }, 'messages', 'must be an array'],
    [{ ...valid, messages: [null] }, 'messages[0]', 'must be an object'],
    [{ ...valid, messages: [user, {}] }, 'messages[1].role', 'is required'],
    [
      { ...valid, messages: [user, { role: 'robot', content: '' }] },
      'messages[1].role',
      'must be one of system, developer, user, assistant, tool, function',
    ],
    [{ ...valid, messages: [{ role: 'user' }] }, 'messages[0].content', 'is required'],
    [
      { ...valid, messages: [{ role: 'user', content: 7 }] },
      'messages[0].content',
      'must be a string or an array',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'messages[0].content[0].type',
      'is required',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages[0].content[0].text',
      'is required',
    ],
    [
      { ...valid, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0].image_url.url',
      'is required',
    ],
    [{ ...valid, messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'is required'],
    [
      { ...valid, messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: {} } }] }] },
      'messages[0].tool_calls[0].function.arguments',
      'must be a string',
    ],
    [{ ...valid, temperature: 2.1 }, 'temperature', 'must be a number from 0 to 2'],
    [{ ...valid, temperature: '1' }, 'temperature', 'must be a number from 0 to 2'],
    [{ ...valid, top_p: -0.1 }, 'top_p', 'must be a number from 0 to 1'],
    [{ ...valid, n: 0 }, 'n', 'must be an integer from 1 to 128'],
    [{ ...valid, n: 129 }, 'n', 'must be an integer from 1 to 128'],
    [{ ...valid, max_tokens: 0 }, 'max_tokens', 'must be an integer from 1 to 9007199254740991'],
    [
      { ...valid, max_completion_tokens: 1.5 },
      'max_completion_tokens',
      'must be an integer from 1 to 9007199254740991',
    ],
    [{ ...valid, stop: Array.from({ length: 65 }, () => 'a') }, 'stop', 'must have 0 to 64 items'],
    [{ ...valid, stop: [1] }, 'stop[0]', 'must be a string'],
    [{ ...valid, stream: 'true' }, 'stream', 'must be true or false'],
    [
      { ...valid, stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
      'must be true or false',
    ],
    [{ ...valid, presence_penalty: 3 }, 'presence_penalty', 'must be a number from -2 to 2'],
    [{ ...valid, seed: 1.5 }, 'seed', 'must be an integer from -9007199254740991 to 9007199254740991'],
    [{ ...valid, top_logprobs: 21 }, 'top_logprobs', 'must be an integer from 0 to 20'],
    [{ ...valid, tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name', 'is required'],
    [{ ...valid, tool_choice: 1 }, 'tool_choice', 'must be a string or an object'],
    [{ ...valid, response_format: 'json' }, 'response_format', 'must be an object'],
  ]
  for (const [body, param, problem] of faults)
    expect(refusalOf({ ...body }), param).toEqual(['invalid_value', param, `${param} ${problem}.`])
})

test('a number beyond 2^53 is neither a number nor an array or an object, where one of these is required', async () => {
  const faults: readonly [field: string, param: string, problem: string][] = [
    ['"seed":#', 'seed', 'must be an integer from -9007199254740991 to 9007199254740991'],
    ['"max_tokens":#', 'max_tokens', 'must be an integer from 1 to 9007199254740991'],
    ['"temperature":#', 'temperature', 'must be a number from 0 to 2'],
    ['"messages":[#]', 'messages[0]', 'must be an object'],
    ['"messages":#', 'messages', 'must be an array'],
    ['"messages":[{"role":"user","content":#}]', 'messages[0].content', 'must be a string or an array'],
    ['"metadata":#', 'metadata', 'must be an object'],
    ['"stop":#', 'stop', 'must be a string or an array'],
    ['"tool_choice":#', 'tool_choice', 'must be a string or an object'],
    [
      '"tools":[{"type":"function","function":{"name":"f","parameters":#}}]',
      'tools[0].function.parameters',
      'must be an object',
    ],
    ['"stream":#', 'stream', 'must be true or false'],
  ]
  for (const [field, param, problem] of faults) {
    const fields = field.replace('#', '9223372036854775807')
    const parsed = await parseJsonBody(
      Buffer.from(`{"model":"a/b","messages":[{"role":"user","content":""}],${fields}}`),
    )
    if (!('body' in parsed)) throw new Error(parsed.refusal.message)
    expect(refusalOf(parsed.body), param).toEqual(['invalid_value', param, `${param} ${problem}.`])
  }
})

test('what OpenAI accepts is accepted: every role, parts, tools, and unknown fields', () => {
  const body = {
    model: 'openai/gpt-4o',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'data:' } },
          { type: 'video', video: 1 },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
      { role: 'assistant', reasoning_content: 'hm', content: 'ok' },
      { role: 'function', name: 'f', content: null },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: null } }],
    tool_choice: 'auto',
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { default: null } } },
    stop: 'END',
    seed: -5,
    top_k: 40,
    min_p: { anything: [1] },
  }
  expect(requestOf(body)).toEqual(body)
})

test('nulls that mean "not set" are accepted and dropped; those that mean something stay', () => {
  const schema = { type: 'json_schema', json_schema: { schema: { enum: [null] } } }
  const messages = [{ role: 'assistant', content: null, tool_calls: null, refusal: null, name: null }, user]
  const request = requestOf({
    ...valid,
    messages,
    stream: null,
    temperature: null,
    stop: null,
    extra: null,
    response_format: schema,
  })
  expect(request).toEqual({
    ...valid,
    messages: [{ role: 'assistant', content: null }, user],
    response_format: schema,
  })
})

test('__proto__ and constructor are plain data on the way to the provider', () => {
  const text =
    '{"model":"a/b","messages":[{"role":"user","content":"x","__proto__":{"a":1},"name":null}],"__proto__":{"b":2},"constructor":3,"stop":null}'
  expect(JSON.stringify(requestOf(JSON.parse(text)))).toBe(
    '{"model":"a/b","messages":[{"role":"user","content":"x","__proto__":{"a":1}}],"__proto__":{"b":2},"constructor":3}',
  )
  expect(refusalOf(JSON.parse('{"__proto__":{"model":"a/b","messages":[]}}'))).toEqual([
    'invalid_value',
    'model',
    'model is required.',
  ])
})

test('a text in pieces is good wherever a string is', () => {
  const text = new LongText(['a', 'b'])
  const call = { id: text, type: 'function', function: { name: text, arguments: text } }
  const messages = [
    { role: 'user', name: text, content: text },
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url: { url: text } },
      ],
    },
    { role: 'assistant', tool_calls: [call] },
  ]
  expect(requestOf({ ...valid, messages, stop: [text], user: text })).toMatchObject({ messages })
  expect(refusalOf({ ...valid, messages: text })).toEqual(refusalOf({ ...valid, messages: 'ab' }))
  expect(refusalOf({ ...valid, tools: [{ type: 'function', function: text }] })).toEqual(
    refusalOf({ ...valid, tools: [{ type: 'function', function: 'ab' }] }),
  )
  expect(refusalOf({ ...valid, messages: [{ role: text, content: '' }] })?.[1]).toBe('messages[0].role')
})

test('a million wrong items cost no more than the first', () => {
  const body = { ...valid, messages: Array.from({ length: 1_000_000 }, () => 1) }
  expect(refusalOf(body)).toEqual(['invalid_value', 'messages[0]', 'messages[0] must be an object.'])
})

test('the limit of an answer is the larger one of two: one of them may be unknown to who serves it', () => {
  const limitOf = (limits: object) => {
    const parsed = parseChatRequest({ model: 'a/b', messages: [{ role: 'user', content: 'x' }], ...limits })
    return 'request' in parsed ? outputTokensMax(parsed.request) : parsed.refusal
  }
  expect(limitOf({ max_tokens: 5000, max_completion_tokens: 1 })).toBe(5000)
  expect(limitOf({ max_tokens: 1, max_completion_tokens: 5000 })).toBe(5000)
  expect(limitOf({ max_tokens: 5 })).toBe(5)
  expect(limitOf({ max_completion_tokens: 6, max_tokens: null })).toBe(6)
  expect(limitOf({})).toBeUndefined()
})
