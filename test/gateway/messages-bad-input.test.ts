import { describe, expect, test } from 'vitest'
import { expectMessage, expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { modelsOfEveryApi } from '../support/models-of-every-api.ts'
import { usageFormats } from '../support/usage-formats.ts'

const { ask } = await modelsOfEveryApi()

const user = { role: 'user', content: 'Hi' }
const assistant = (...content: readonly object[]) => ({ role: 'assistant', content })
const results = (...content: readonly object[]) => ({ role: 'user', content })
const call = (id: string, fields: object = {}) => ({ type: 'tool_use', id, name: 'f', input: {}, ...fields })
const result = (id: string, fields: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'done',
  ...fields,
})
const f = { name: 'f', input_schema: { type: 'object', properties: {} } }
const tools = [f]
const marked = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }
const thinking = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature })

/** `undefined`: it is served. Anthropic gets the client's own request, and may reject it in its own words. */
type Case = readonly [what: string, body: object, param: string | undefined]

const cases: readonly Case[] = [
  ['no messages', { messages: [] }, 'messages'],
  ['a message of a text that is empty', { messages: [{ ...user, content: '' }] }, 'messages'],
  ['a limit of zero', { messages: [user], max_tokens: 0 }, 'max_tokens'],
  ['no limit', { messages: [user], max_tokens: null }, 'max_tokens'],
  ['a limit above that of every model', { messages: [user], max_tokens: 2 ** 40 }, undefined],
  ['the assistant first', { messages: [assistant({ type: 'text', text: 'Yes' }), user] }, undefined],
  ['the same role twice', { messages: [user, user, { role: 'system', content: 'Now' }, user] }, undefined],
  ['only instructions between messages', { messages: [{ role: 'system', content: 'Be brief.' }] }, undefined],
  ['a wrong role', { messages: [{ ...user, role: 'tool' }] }, 'messages[0].role'],
  [
    '2,000 messages',
    {
      messages: Array.from({ length: 2_000 }, (_, at) =>
        at % 2 ? assistant({ type: 'text', text: 'Yes' }) : user,
      ).concat(user),
    },
    undefined,
  ],
  [
    '1,000 calls with their results',
    {
      messages: [
        user,
        ...Array.from({ length: 1_000 }, (_, at) => [assistant(call(`c${at}`)), results(result(`c${at}`))]),
      ].flat(),
      tools,
    },
    undefined,
  ],
  [
    'a result without its call',
    { messages: [user, results(result('c1'))], tools },
    'messages[1].content[0].tool_use_id',
  ],
  [
    'a call without its result',
    { messages: [user, assistant(call('c1')), user], tools },
    'messages[1].content[0]',
  ],
  [
    'two open calls with one id',
    { messages: [user, assistant(call('c1'), call('c1')), results(result('c1'))], tools },
    'messages[1].content[1].id',
  ],
  [
    'two results of one call',
    { messages: [user, assistant(call('c1')), results(result('c1'), result('c1'))], tools },
    undefined,
  ],
  [
    'a result after a text',
    { messages: [user, assistant(call('c1')), results(marked, result('c1'))], tools },
    undefined,
  ],
  [
    'a result without content, and one that is an error without words',
    {
      messages: [
        user,
        assistant(call('c1'), call('c2')),
        results(result('c1', { content: undefined }), result('c2', { content: [], is_error: true })),
      ],
      tools,
    },
    undefined,
  ],
  [
    'a call of a tool that is not there',
    { messages: [user, assistant(call('c1', { name: 'gone' })), results(result('c1'))] },
    undefined,
  ],
  [
    'an id of 300 characters',
    { messages: [user, assistant(call('c'.repeat(300))), results(result('c'.repeat(300)))], tools },
    undefined,
  ],
  [
    'names of JavaScript',
    {
      messages: [user, assistant(call('__proto__', { name: 'constructor' })), results(result('__proto__'))],
      tools: [{ ...f, name: 'constructor' }],
      metadata: { ['__proto__']: 'x' },
    },
    undefined,
  ],
  [
    'names that few providers take',
    {
      messages: [user],
      tools: [
        { ...f, name: 'ж.'.repeat(100) },
        { ...f, name: 'mcp.сервер' },
      ],
    },
    undefined,
  ],
  ['two tools with one name', { messages: [user], tools: [f, f] }, undefined],
  [
    'a choice of a missing tool',
    { messages: [user], tools, tool_choice: { type: 'tool', name: 'g' } },
    'tool_choice.name',
  ],
  ['a choice without tools', { messages: [user], tool_choice: { type: 'any' } }, undefined],
  [
    'a choice of a tool that is held back',
    {
      messages: [user],
      tools: [{ ...f, defer_loading: true }],
      tool_choice: { type: 'tool', name: 'f' },
    },
    undefined,
  ],
  ['tools that are all held back', { messages: [user], tools: [{ ...f, defer_loading: true }] }, undefined],
  [
    'a reference to a tool that is not there',
    {
      messages: [
        user,
        assistant(call('c1')),
        results(result('c1', { content: [{ type: 'tool_reference', tool_name: 'gone' }] })),
      ],
      tools,
    },
    undefined,
  ],
  [
    'thinking with signatures that nothing here made',
    {
      messages: [
        user,
        assistant(thinking(''), thinking('gAAAA'), thinking('x'.repeat(50_000)), {
          type: 'text',
          text: 'Yes',
        }),
        user,
      ],
    },
    undefined,
  ],
  ['only thinking of the model', { messages: [user, assistant(thinking('gAAAA')), user] }, undefined],
  [
    'an image by the id of a file',
    {
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }] }],
    },
    'messages[0].content[0].source.type',
  ],
  ['a block without a type', { messages: [{ role: 'user', content: [{}] }] }, 'messages[0].content[0].type'],
  ['a message that is no object', { messages: ['Hi'] }, 'messages[0]'],
  ['a stream that is "yes"', { messages: [user], stream: 'yes' }, 'stream'],
  ['too high a temperature', { messages: [user], temperature: 2 }, 'temperature'],
]

describe.each(usageFormats.map(({ name }) => name))('a backend of %s', (api) => {
  test.each(cases)('gets %s, or its client gets the path', async (_what, body, param) => {
    for (const stream of 'stream' in body ? [body.stream] : [false, true]) {
      const { status, text, received } = await ask(api, '/messages', { max_tokens: 1_000, ...body, stream })
      if (param === undefined && api === 'Anthropic' && status === 400) {
        const { error } = JSON.parse(text)
        expect(error).toMatchObject({ type: 'invalid_request_error', source: 'upstream' })
        expect(received.map(({ fault }) => fault)).toEqual([error.message])
      } else if (param === undefined) {
        expect(status, text).toBe(200)
        if (stream === true) expectMessageStream(readMessageEvents(text))
        else expectMessage(JSON.parse(text))
        expect(received.map(({ fault }) => fault)).toEqual([undefined])
      } else {
        expect(status, text).toBe(400)
        expect(JSON.parse(text).error).toMatchObject({
          type: 'invalid_request_error',
          param,
          source: 'client',
        })
        expect(received).toEqual([])
      }
    }
  })

  test('gets marks for the cache in 100 blocks; only Anthropic rejects more than four', async () => {
    const body = {
      system: Array(50).fill(marked),
      messages: [{ role: 'user', content: Array(50).fill(marked) }],
    }
    const { status, text } = await ask(api, '/messages', { max_tokens: 1_000, ...body })
    expect(status, text).toBe(api === 'Anthropic' ? 400 : 200)
    if (status === 400)
      expect(JSON.parse(text).error).toMatchObject({
        type: 'invalid_request_error',
        message: expect.stringContaining('cache_control'),
        source: 'upstream',
      })
  })
})
