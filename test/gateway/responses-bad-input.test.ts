import { describe, expect, test } from 'vitest'
import { modelsOfEveryApi } from '../support/models-of-every-api.ts'
import { expectStream, readEvents } from '../support/response-events.ts'
import { usageFormats } from '../support/usage-formats.ts'

const { ask } = await modelsOfEveryApi()

const user = { role: 'user', content: 'Hi' }
const call = (id: string, fields: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: '{}',
  ...fields,
})
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'done' })
const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }
const namespace = (name: string, tool: string) => ({
  type: 'namespace',
  name,
  description: 'Tools',
  tools: [{ ...f, name: tool }],
})

/** Gets the client's own request, and may reject it in its own words. */
const relayed = "OpenAI's Responses"

/** `undefined`: it is served. */
type Case = readonly [what: string, body: object, param: string | undefined]

const everywhere: readonly Case[] = [
  [
    '10,000 items',
    { input: Array.from({ length: 10_000 }, (_, at) => ({ ...user, content: `${at}` })) },
    undefined,
  ],
  [
    '2,500 calls with their outputs',
    {
      input: [user, ...Array.from({ length: 2_500 }, (_, at) => [call(`c${at}`), output(`c${at}`)]).flat()],
      tools: [f],
    },
    undefined,
  ],
  ['an output without its call', { input: [user, output('c1')] }, 'input[1].call_id'],
  ['an output before its call', { input: [user, output('c1'), call('c1')] }, 'input[1].call_id'],
  ['a call without its output', { input: [user, call('c1'), user], tools: [f] }, 'input[1]'],
  ['two calls with one id', { input: [user, call('c1'), call('c1'), output('c1')] }, 'input[2].call_id'],
  [
    'two outputs of one call',
    { input: [user, call('c1'), output('c1'), output('c1')], tools: [f] },
    undefined,
  ],
  [
    'an id of 300 characters',
    { input: [user, call('c'.repeat(300)), output('c'.repeat(300))], tools: [f] },
    undefined,
  ],
  [
    'a choice of a missing tool',
    { input: 'Hi', tools: [f], tool_choice: { type: 'function', name: 'g' } },
    'tool_choice.name',
  ],
  ['a choice without tools', { input: 'Hi', tool_choice: 'required' }, undefined],
  [
    'a choice of a tool that is dropped',
    { input: 'Hi', tools: [f, { type: 'web_search' }], tool_choice: { type: 'web_search' } },
    undefined,
  ],
  [
    'a call of a tool that is not there',
    { input: [user, call('c1', { name: 'gone' }), output('c1')] },
    undefined,
  ],
  [
    'names that become the same',
    { input: 'Hi', tools: [namespace('a__b', 'c'), namespace('a', 'b__c'), { ...f, name: 'a__b__c' }] },
    undefined,
  ],
  ['two tools with one name', { input: 'Hi', tools: [f, f, { type: 'custom', name: 'f' }] }, undefined],
  [
    'names that few providers take',
    { input: 'Hi', tools: [{ ...f, name: 'ж.'.repeat(100) }, namespace('mcp.сервер', 'a b')] },
    undefined,
  ],
  ['a stream that is "yes"', { input: 'Hi', stream: 'yes' }, 'stream'],
  ['a message without parts', { input: [user, { role: 'assistant', content: [] }, user] }, undefined],
  [
    'reasoning that is not ours',
    {
      input: [
        user,
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
        { role: 'assistant', content: 'Yes' },
        user,
      ],
    },
    undefined,
  ],
  [
    'names of JavaScript',
    {
      input: [user, call('__proto__', { name: 'constructor' }), output('__proto__')],
      tools: [{ ...f, name: 'constructor' }],
      metadata: { ['__proto__']: 'x' },
    },
    undefined,
  ],
  [
    'a number beyond 2^53 in a schema',
    {
      input: 'Hi',
      tools: [
        { ...f, parameters: { type: 'object', properties: { n: { type: 'integer', maximum: 2 ** 60 } } } },
      ],
    },
    undefined,
  ],
  [
    'an image without a URL',
    { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
    'input[0].content[0].image_url',
  ],
  [
    'an image by the id of a file',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
    'input[0].content[0].file_id',
  ],
  ['an item of an unknown type', { input: [user, { type: 'invented', content: [{}] }] }, undefined],
  ['an item that is no object', { input: [user, 'Hi'] }, 'input[1]'],
  ['a wrong role', { input: [{ role: 'tool', content: 'Hi' }] }, 'input[0].role'],
  ['no text', { input: null }, 'input'],
  ['too high a temperature', { input: 'Hi', temperature: 3 }, 'temperature'],
  ['a limit of zero', { input: 'Hi', max_output_tokens: 0 }, 'max_output_tokens'],
]

describe.each(usageFormats.map(({ name }) => name))('a backend of %s', (api) => {
  test.each(everywhere)('gets %s, or its client gets the path', async (_what, body, param) => {
    for (const stream of 'stream' in body ? [body.stream] : [false, true]) {
      const { status, text, received } = await ask(api, '/responses', { ...body, stream })
      if (param === undefined && api === relayed && status === 400) {
        const { error } = JSON.parse(text)
        expect(error).toMatchObject({ code: 'invalid_value', source: 'upstream' })
        expect(received.map(({ fault }) => fault)).toEqual([error.message])
      } else if (param === undefined) {
        expect(status, text).toBe(200)
        if (stream === true) expect(expectStream(readEvents(text)).status).toBe('completed')
        expect(received.map(({ fault }) => fault)).toEqual([undefined])
      } else {
        expect(status, text).toBe(400)
        expect(JSON.parse(text).error).toMatchObject({ code: 'invalid_value', param, source: 'client' })
        expect(received).toEqual([])
      }
    }
  })

  /** Input that only OpenAI's API takes: which of the others do not, and the path. */
  test.each<[what: string, body: object, others: readonly string[], param: string]>([
    ['no text', { input: '' }, ['Gemini'], 'input'],
    ...['{"path":', 'not JSON', '[]', '"text"'].map(
      (written): [string, object, readonly string[], string] => [
        `arguments that are ${written}`,
        { input: [user, call('c1', { arguments: written }), output('c1')], tools: [f] },
        ['Anthropic', 'Gemini'],
        'input[1].arguments',
      ],
    ),
  ])('gets %s, or its client gets the path', async (_what, body, others, param) => {
    const { status, text } = await ask(api, '/responses', body)
    expect(status, text).toBe(others.includes(api) ? 400 : 200)
    if (status === 400)
      expect(JSON.parse(text).error).toMatchObject({ code: 'invalid_value', param, source: 'upstream' })
  })
})
