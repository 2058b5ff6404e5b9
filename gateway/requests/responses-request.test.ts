import { describe, expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { encryptedDetail } from './encrypted-detail.ts'
import {
  callItem as call,
  droppedOf,
  outputItem as output,
  parseResponses as parse,
  readResponses as read,
} from './responses-request.fixture.ts'

const model = 'a/b'

const requestOf = (body: object) => read(body).request
const messagesOf = (...input: readonly object[]) => requestOf({ input }).messages
function refusalOf(body: object) {
  const parsed = parse(body)
  const refusal = 'refusal' in parsed ? parsed.refusal : parsed.nativeOnly
  return refusal && [refusal.param, refusal.message]
}

const user = { role: 'user', content: 'Hi' }
const chatCall = (id: string, name = 'f') => ({ id, type: 'function', function: { name, arguments: '{}' } })

test('fields have the names of a chat, and nulls mean not set', () => {
  const schema = { type: 'object' }
  expect(
    requestOf({
      input: 'Hi',
      instructions: 'Be brief.',
      stream: true,
      store: null,
      temperature: 0.5,
      top_p: null,
      max_output_tokens: 9,
      text: { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' },
      reasoning: { effort: 'high', summary: 'auto' },
      metadata: { a: 'b' },
      service_tier: 'flex',
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      parallel_tool_calls: true,
      tool_choice: 'auto',
      include: ['reasoning.encrypted_content'],
      client_metadata: { any: 'thing' },
      stream_options: { include_obfuscation: false },
      truncation: 'disabled',
      background: false,
      previous_response_id: null,
    }),
  ).toEqual({
    model,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    stream: true,
    temperature: 0.5,
    max_tokens: 9,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    verbosity: 'low',
    reasoning_effort: 'high',
    service_tier: 'flex',
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'k',
  })
  expect(requestOf({ input: 'Hi', stream: false, text: { format: { type: 'text' } } })).toEqual({
    model,
    messages: [user],
  })
  expect(requestOf({ input: 'Hi', text: { format: { type: 'json_object' } } })).toMatchObject({
    response_format: { type: 'json_object' },
  })
})

describe('items', () => {
  test('need no id, type or status', () => {
    expect(
      messagesOf(
        { role: 'developer', content: 'Be brief.' },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'user',
          content: [{ type: 'input_text', text: 'Hi' }],
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Yes', annotations: [] }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: 'b' },
          ],
        },
      ),
    ).toEqual([
      { role: 'developer', content: 'Be brief.' },
      user,
      { role: 'assistant', content: 'Yes' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  test('with several outputs of one call are one result', () => {
    const picture = 'data:image/png;base64,AAAA'
    expect(
      messagesOf(
        call('1'),
        call('2'),
        output('1', 'Half.'),
        output('2'),
        output('1', [{ type: 'input_image', image_url: picture }]),
        output('1', 'Whole.'),
      ).slice(1),
    ).toEqual([
      {
        role: 'tool',
        tool_call_id: '1',
        content: [
          { type: 'text', text: 'Half.' },
          { type: 'text', text: 'Whole.' },
        ],
      },
      expect.objectContaining({ role: 'tool', tool_call_id: '2' }),
      { role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] },
    ])
  })

  test('of one turn of the model are one message, and the results follow it', () => {
    expect(
      messagesOf(
        user,
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'Hm.' }],
          encrypted_content: 'x',
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        call('1'),
        call('2', 'g'),
        { role: 'user', content: 'Hurry' },
        output('2'),
        output('1', [{ type: 'input_text', text: 'one' }]),
        call('3'),
        output('3'),
      ),
    ).toEqual([
      user,
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Hm.',
        reasoning_details: [{ type: encryptedDetail, data: 'x' }],
        tool_calls: [chatCall('1'), chatCall('2', 'g')],
      },
      { role: 'tool', tool_call_id: '2', content: 'done' },
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'user', content: 'Hurry' },
      { role: 'assistant', content: null, tool_calls: [chatCall('3')] },
      { role: 'tool', tool_call_id: '3', content: 'done' },
    ])
  })

  test('of reasoning that led to nothing, or without content, are left out', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
    expect(messagesOf(user, reasoning, user, { ...reasoning, encrypted_content: 'x' })).toEqual([user, user])
    expect(messagesOf(user, reasoning, { role: 'assistant', content: 'Yes' })[1]).toEqual({
      role: 'assistant',
      content: 'Yes',
    })
  })

  test('carry the text of reasoning in full rather than its summary', () => {
    const summary = [{ type: 'summary_text', text: 'short' }]
    const content = [{ type: 'reasoning_text', text: 'long' }]
    expect(
      messagesOf({ type: 'reasoning', summary, content }, { role: 'assistant', content: 'Yes' }),
    ).toMatchObject([{ reasoning_content: 'long' }])
  })

  test('with images and files are parts of a chat; those of results follow in a message of the user', () => {
    const image = { type: 'input_image', image_url: 'https://a/b.png', detail: 'original' }
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'JVBER' }
    const url = { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'high' } }
    const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBER' } }
    expect(messagesOf({ role: 'user', content: [image, file] })).toEqual([
      { role: 'user', content: [url, pdf] },
    ])
    expect(messagesOf(call('1'), call('2'), output('1', [image]), output('2'))).toEqual([
      { role: 'assistant', content: null, tool_calls: [chatCall('1'), chatCall('2')] },
      { role: 'tool', tool_call_id: '1', content: 'The output is attached.' },
      { role: 'tool', tool_call_id: '2', content: 'done' },
      { role: 'user', content: [url] },
    ])
  })

  test('of long texts keep them as they are', () => {
    const long = new LongText(['a'.repeat(9), 'b'.repeat(9)])
    expect(messagesOf({ role: 'user', content: long })).toEqual([{ role: 'user', content: long }])
  })

  test('may repeat the id of a call that has its output', () => {
    expect(messagesOf(call('1'), output('1'), call('1'), output('1'))).toHaveLength(4)
  })

  test('of unknown types, and references to reasoning, are dropped and reported', () => {
    const input = [
      user,
      { type: 'web_search_call', id: 'ws_1' },
      { type: 'local_shell_call', call_id: '1', action: {} },
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'invented', any: 'thing' },
      { type: 'item_reference', id: 'rs_1' },
      { id: 'rs_2' },
      { type: 'tool_search_call', arguments: {}, execution: 'server' },
    ]
    expect(droppedOf({ input })).toEqual([
      ['input.web_search_call', 'input[1]'],
      ['input.local_shell_call', 'input[2]'],
      ['input.compaction', 'input[3]'],
      ['input.invented', 'input[4]'],
      ['input.item_reference', 'input[5]'],
      ['input.item_reference', 'input[6]'],
      ['input.tool_search_call', 'input[7]'],
    ])
    expect(requestOf({ input }).messages).toEqual([user])
  })
})

test('parameters without a place in a chat are dropped and reported', () => {
  const body = {
    input: 'Hi',
    truncation: 'auto',
    include: ['reasoning.encrypted_content', 'file_search_call.results'],
    max_tool_calls: 3,
    top_logprobs: 2,
    n: 4,
    new_field: {},
    moderation: null,
  }
  expect(droppedOf(body)).toEqual([
    ['max_tool_calls', 'max_tool_calls'],
    ['top_logprobs', 'top_logprobs'],
    ['n', 'n'],
    ['new_field', 'new_field'],
    ['truncation', 'truncation'],
    ['include', 'include[1]'],
  ])
  expect(Object.keys(requestOf(body))).toEqual(['model', 'messages'])
})

test.each<[body: object, param: string, problem: string]>([
  [{}, 'input', 'is required'],
  [{ input: 5 }, 'input', 'must be a string or an array'],
  [{ input: [] }, 'input', 'must have at least 1 item'],
  [{ input: ['Hi'] }, 'input[0]', 'must be an object'],
  [{ input: [{ type: 'reasoning', summary: [] }] }, 'input', 'contains nothing for the model'],
  [{ input: 'Hi', model: 5 }, 'model', 'must be a non-empty string'],
  [{ input: 'Hi', stream: 'yes' }, 'stream', 'must be true or false'],
  [{ input: 'Hi', background: true }, 'background', 'must be false'],
  [{ input: 'Hi', conversation: 'conv_1' }, 'conversation', 'is not supported'],
  [{ input: 'Hi', prompt: { id: 'p' } }, 'prompt', 'is not supported'],
  [
    { input: 'Hi', previous_response_id: 'resp_1' },
    'previous_response_id',
    'providerOptions.openai.store: false',
  ],
  [{ input: 'Hi', text: { format: { type: 'xml' } } }, 'text.format.type', 'must be one of'],
  [
    { input: 'Hi', text: { format: { type: 'json_schema', name: 'n' } } },
    'text.format.schema',
    'is required',
  ],
  [
    { input: [user, { type: 'item_reference', id: 'msg_1' }] },
    'input[1]',
    'providerOptions.openai.store: false',
  ],
  [{ input: [user, { type: 'compaction_trigger' }] }, 'input[1]', 'is not supported'],
  [{ input: [{ role: 'robot', content: 'Hi' }] }, 'input[0].role', 'must be one of'],
  [{ input: [{ role: 'user' }] }, 'input[0].content', 'is required'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
    'input[0].content[0].text',
    'is required',
  ],
  [
    { input: [{ role: 'user', content: [{ type: 'video' }] }] },
    'input[0].content[0].type',
    'must be input_text',
  ],
  [
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
    'input[0].content[0].file_id',
    'is not supported',
  ],
  [
    { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a' }] }] },
    'input[0].content[0].file_url',
    'is not supported',
  ],
  [{ input: [call('1')] }, 'input[0]', 'has no output'],
  [{ input: [call('1'), call('1')] }, 'input[1].call_id', 'is that of an earlier call'],
  [{ input: [user, output('1')] }, 'input[1].call_id', 'must be that of an earlier call'],
  [{ input: [{ ...call('1'), arguments: {} }] }, 'input[0].arguments', 'must be a string'],
  [{ input: 'Hi', tools: [{ type: 'function' }] }, 'tools[0].name', 'is required'],
  [
    { input: 'Hi', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'custom' }] }] },
    'tools[0].tools[0].name',
    'is required',
  ],
  [
    { input: [{ type: 'additional_tools', tools: [{ type: 'function' }] }] },
    'input[0].tools[0].name',
    'is required',
  ],
  [{ input: 'Hi', tool_choice: { type: 'function', name: 'f' } }, 'tool_choice.name', 'must name a tool'],
  [
    {
      input: 'Hi',
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
    'tool_choice.tools[0].name',
    'must name a tool',
  ],
])('%j is rejected for %s', (body, param, problem) => {
  const [shown, message] = refusalOf(body) ?? []
  expect(shown).toBe(param)
  expect(message).toContain(problem)
})

test('a field of the chat has the path that its client knows', () => {
  const { asked } = read({
    instructions: 'Be brief.',
    input: [
      { type: 'reasoning', summary: [] },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://a' }] },
      call('1'),
      call('2'),
      output('1'),
      output('2'),
    ],
  })
  const paths: readonly (readonly [string, string])[] = [
    ['messages[0].content', 'instructions'],
    ['messages[1].content[0].image_url.url', 'input[1].content[0].image_url'],
    ['messages[1].content[0].file.file_data', 'input[1].content[0].file_data'],
    ['messages[2].tool_calls[1].function.arguments', 'input[3].arguments'],
    ['messages[2].tool_calls[0]', 'input[2]'],
    ['messages[4].tool_call_id', 'input[5].call_id'],
    ['messages[4].content', 'input[5].output'],
    ['messages', 'input'],
    ['messages[9]', 'input'],
    ['max_tokens', 'max_output_tokens'],
    ['response_format', 'text.format'],
    ['reasoning_effort', 'reasoning.effort'],
    ['model', 'model'],
  ]
  for (const [chat, own] of paths) expect(asked.pathOf(chat)).toBe(own)
  expect(read({ input: 'Hi' }).asked.pathOf('messages[0].content')).toBe('input')
})

test('the response repeats the request', () => {
  const { repeated } = read({
    input: 'Hi',
    store: true,
    temperature: 0,
    metadata: { a: 'b' },
    user: 'u',
  }).asked
  expect(repeated).toMatchObject({
    temperature: 0,
    top_p: 1,
    metadata: { a: 'b' },
    user: 'u',
    tools: [],
  })
})

test('the response repeats a choice of tools only if it was used', () => {
  const shown = (body: object) => read({ input: 'Hi', ...body }).asked.repeated.tool_choice
  const tools = [{ type: 'function', name: 'f' }]
  expect(shown({ tools, tool_choice: 'required' })).toBe('required')
  expect(shown({ tool_choice: 'required' })).toBe('auto')
  expect(shown({ tools, tool_choice: { type: 'web_search' } })).toBe('auto')
})

test('a conversation of 10,000 items is read', () => {
  const input = Array.from({ length: 5_000 }, (_, at) => [call(`${at}`), output(`${at}`)]).flat()
  expect(messagesOf(...input)).toHaveLength(10_000)
})
