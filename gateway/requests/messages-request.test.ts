import { describe, expect, test } from 'vitest'
import { parseMessages, readMessages as read } from './messages-request.fixture.ts'

const hi = { role: 'user', content: 'Hi' }
const requestOf = (body: object) => read({ messages: [hi], ...body }).request
const messagesOf = (...messages: object[]) => requestOf({ messages }).messages
const droppedOf = (body: object) =>
  read({ messages: [hi], ...body }).dropped.map(({ name, path }) => [name, path])
const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ...more })
const call = (id: string, name = 'f', input: object = {}) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const mark = { cache_control: { type: 'ephemeral' } }
const tool = { name: 'f', description: 'd', input_schema: { type: 'object' } }

describe('messages', () => {
  test('are those of a chat, with the instructions first', () => {
    expect(
      requestOf({ system: 'Be brief.', messages: [hi, { role: 'assistant', content: 'Hello' }, hi] }),
    ).toEqual({
      model: 'a/b',
      max_tokens: 100,
      messages: [{ role: 'system', content: 'Be brief.' }, hi, { role: 'assistant', content: 'Hello' }, hi],
    })
  })

  test('keep instructions between others in their place, and the last effort is in force', () => {
    const later = { role: 'system', content: [text('Now think.')], output_config: { effort: 'high' } }
    const { messages, reasoning_effort } = requestOf({
      system: [text('a'), text('b')],
      messages: [hi, later, { role: 'assistant', content: 'Ok' }, hi],
      output_config: { effort: 'low' },
    })
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'system', 'assistant', 'user'])
    expect(messages[0]?.content).toEqual([text('a'), text('b')])
    expect(reasoning_effort).toBe('high')
  })

  test('have results right behind their calls and before the text that came with them', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    expect(
      messagesOf(
        hi,
        { role: 'assistant', content: [text('I look.'), call('1', 'f', { a: 1 }), call('2', 'g')] },
        {
          role: 'user',
          content: [
            text('So?'),
            result('2', [image]),
            result('1', [text('one'), text('two')], { is_error: true }),
          ],
        },
      ),
    ).toEqual([
      hi,
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: '1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
          { id: '2', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: '2', content: 'The output is attached.' },
      { role: 'tool', tool_call_id: '1', content: [text('Error: one'), text('two')] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      { role: 'user', content: 'So?' },
    ])
  })

  test('have images, documents and search results as parts', () => {
    const content = [
      { type: 'image', source: { type: 'url', url: 'https://a/b.png' } },
      {
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AA' },
      },
      {
        type: 'document',
        title: 'T',
        context: 'C',
        source: { type: 'text', media_type: 'text/plain', data: 'D' },
      },
      { type: 'document', source: { type: 'content', content: [text('E')] } },
      { type: 'search_result', title: 'F', source: 'https://f', content: [text('G')] },
    ]
    expect(messagesOf({ role: 'user', content })[0]?.content).toEqual([
      { type: 'image_url', image_url: { url: 'https://a/b.png' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' } },
      text('T\nC'),
      text('D'),
      text('E'),
      text('F\nhttps://f'),
      text('G'),
    ])
  })

  test('keep thinking as text and its signature encrypted', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'ours' },
      { type: 'redacted_thinking', data: 'hidden' },
      text('Hello'),
    ]
    expect(messagesOf(hi, { role: 'assistant', content })[1]).toEqual({
      role: 'assistant',
      content: 'Hello',
      reasoning_content: 'Hm.',
      reasoning_details: [
        { type: 'gateway.encrypted', data: 'ours' },
        { type: 'gateway.encrypted', data: 'hidden' },
      ],
    })
  })

  test('keep marks of a cache where providers may take them, reported once', () => {
    const body = {
      system: [text('a', mark)],
      tools: [{ ...tool, ...mark }],
      messages: [
        { role: 'assistant', content: [call('1')] },
        { role: 'user', content: [result('1', 'x', mark), text('b', mark)] },
      ],
    }
    const { request, dropped } = read(body)
    expect(JSON.stringify(request).match(/cache_control/g)).toHaveLength(4)
    expect(new Set(dropped.map(({ name }) => name))).toEqual(new Set(['cache_control']))
  })

  test('lose a note that only Anthropic reads', () => {
    const system = [text('x-anthropic-billing-header: cc_version=2; cch=abc;'), text('Be brief.')]
    expect(requestOf({ system }).messages[0]?.content).toBe('Be brief.')
  })
})

describe('tools', () => {
  test('are functions', () => {
    const { tools, tool_choice, parallel_tool_calls } = requestOf({
      tools: [{ ...tool, strict: true, type: 'custom', input_examples: [{}] }],
      tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    })
    const { name, description, input_schema: parameters } = tool
    expect(tools).toEqual([{ type: 'function', function: { name, description, parameters, strict: true } }])
    expect(tool_choice).toEqual({ type: 'function', function: { name: 'f' } })
    expect(parallel_tool_calls).toBe(false)
  })

  test.each([
    ['auto', 'auto'],
    ['any', 'required'],
    ['none', 'none'],
  ])('may be chosen by %s', (type, choice) => {
    expect(requestOf({ tools: [tool], tool_choice: { type } }).tool_choice).toBe(choice)
  })

  test('that are deferred are held back until a result refers to them', () => {
    const deferred = { ...tool, name: 'mcp__a', defer_loading: true }
    const never = { ...tool, name: 'mcp__b', defer_loading: true }
    const tools = [tool, deferred, never]
    const namesOf = (body: object) =>
      (requestOf({ tools, ...body }).tools as { function: { name: string } }[]).map(
        (one) => one.function.name,
      )
    expect(namesOf({})).toEqual(['f'])
    expect(namesOf({ tool_choice: { type: 'tool', name: 'mcp__b' } })).toEqual(['f', 'mcp__b'])
    const messages = [
      hi,
      { role: 'assistant', content: [call('1')] },
      { role: 'user', content: [result('1', [{ type: 'tool_reference', tool_name: 'mcp__a' }])] },
    ]
    expect(namesOf({ messages })).toEqual(['f', 'mcp__a'])
    expect(requestOf({ tools, messages }).messages[2]?.content).toBe('The tool mcp__a is available now.')
  })

  test('with names that functions may not have get others, which lead back', () => {
    const long = `mcp__${'x'.repeat(80)}`
    const names = [long, `${long}y`, 'a.b', 'a_b']
    const { request, asked } = read({
      messages: [
        hi,
        { role: 'assistant', content: [call('1', long)] },
        { role: 'user', content: [result('1')] },
      ],
      tools: names.map((name) => ({ ...tool, name })),
    })
    const sent = (request.tools as { function: { name: string } }[]).map((one) => one.function.name)
    expect(new Set(sent).size).toBe(4)
    for (const name of sent) expect(name).toMatch(/^[\w-]{1,64}$/)
    expect(sent.map(asked.toolNameOf)).toEqual(names)
    expect(request.messages[1]).toMatchObject({ tool_calls: [{ function: { name: sent[0] } }] })
    expect(asked.toolNameOf('unknown')).toBe('unknown')
  })
})

describe('parameters', () => {
  test('have the names of a chat', () => {
    expect(
      requestOf({
        stream: true,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['END'],
        output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
      }),
    ).toMatchObject({
      stream: true,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop: ['END'],
      response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    })
  })

  test.each([
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, 'none'],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }, 'xhigh'],
    [{ output_config: { effort: 'low' } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, 'high'],
    [{ thinking: { type: 'between_tools' } }, undefined],
  ])('%j is the effort %s', (body, effort) => {
    expect(requestOf(body).reasoning_effort).toBe(effort)
  })

  test('a name without a provider is one of Anthropic', () => {
    expect(read({ model: 'claude-opus-5-5', messages: [hi] }).request.model).toBe('anthropic/claude-opus-5-5')
  })
})

test('parts without a place in a chat are dropped and named', () => {
  const invented = { type: 'hologram', data: 1 }
  expect(
    droppedOf({
      context_management: { edits: [] },
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      invented: 1,
      tools: [{ type: 'web_search_20260318', name: 'web_search' }, tool],
      tool_choice: { type: 'tool', name: 'web_search' },
      messages: [{ role: 'user', content: [invented, text('Hi')], invented: 1 }],
    }),
  ).toEqual([
    ['tools.web_search_20260318', 'tools[0]'],
    ['messages.invented', 'messages[0].invented'],
    ['messages.hologram', 'messages[0].content[0]'],
    ['context_management', 'context_management'],
    ['metadata', 'metadata'],
    ['service_tier', 'service_tier'],
    ['invented', 'invented'],
    ['tool_choice', 'tool_choice'],
  ])
})

test('a tool whose type is no text is dropped like any other', () => {
  expect(droppedOf({ tools: [{ type: { toString: 1, valueOf: 1 } }] })).toEqual([
    ['tools.unknown', 'tools[0]'],
  ])
})

describe('a rejection names its field', () => {
  const image = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
  test.each<[string, object]>([
    ['messages', { messages: [] }],
    ['messages', { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }],
    ['messages', { messages: [{ role: 'user', content: '' }] }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: null }],
    ['model', { model: '' }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[1].text', { messages: [{ role: 'user', content: [text('a'), { type: 'text' }] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [call('1')] }] }],
    ['messages[0].content[0].source.type', { messages: [{ role: 'user', content: [image] }] }],
    ['messages[0].content[0].tool_use_id', { messages: [{ role: 'user', content: [result('1')] }] }],
    ['messages[1].content[0]', { messages: [hi, { role: 'assistant', content: [call('1')] }, hi] }],
    ['messages[1].content[1].id', { messages: [hi, { role: 'assistant', content: [call('1'), call('1')] }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
    ['tool_choice.name', { tools: [tool], tool_choice: { type: 'tool', name: 'g' } }],
    ['system[0].text', { system: [{ type: 'text', text: 1 }] }],
    ['thinking.type', { thinking: {} }],
    ['thread', { thread: { type: 'create' } }],
    [
      'messages[0].content[0].source.content[0]',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'content', content: [null] } }] },
        ],
      },
    ],
  ])('%s', (param, body) => {
    expect(parseMessages({ messages: [hi], ...body })).toMatchObject({
      refusal: { status: 400, code: 'invalid_value', param },
    })
  })
})

test('fields of the chat have their names in the request', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } }
  const { asked } = read({
    system: [text('a'), text('b')],
    messages: [
      { role: 'assistant', content: [text('x'), call('1')] },
      { role: 'user', content: [result('1', [text('r'), image]), text('see'), image] },
    ],
  })
  const paths: readonly (readonly [string, string])[] = [
    ['stop', 'stop_sequences'],
    ['reasoning_effort', 'output_config.effort'],
    ['temperature', 'temperature'],
    ['messages[0].content[1]', 'system[1]'],
    ['messages[1].tool_calls[0].function.arguments', 'messages[0].content[1].input'],
    ['messages[2].tool_call_id', 'messages[1].content[0].tool_use_id'],
    ['messages[3].content[0].image_url.url', 'messages[1].content[0].content[1].source'],
    ['messages[4].content[1].image_url.url', 'messages[1].content[2].source'],
    ['messages[9]', 'messages'],
  ]
  for (const [path, own] of paths) expect(asked.pathOf(path)).toBe(own)
})
