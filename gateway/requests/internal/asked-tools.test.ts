import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../wire/json-fields.ts'
import {
  callItem as call,
  droppedOf,
  outputItem as output,
  readResponses as read,
} from '../responses-request.fixture.ts'

const requestOf = (body: object) => read(body).request
const user = { role: 'user', content: 'Hi' }

describe('tools', () => {
  const functionTool = {
    type: 'function',
    name: 'f',
    description: 'd',
    parameters: { type: 'object' },
    strict: false,
  }
  const named = (body: object) =>
    (requestOf({ input: 'Hi', ...body }).tools as { function: JsonObject }[] | undefined)?.map(
      (tool) => tool.function,
    )

  test('are functions', () => {
    const { type, ...f } = functionTool
    expect(
      named({ tools: [functionTool, { ...functionTool, name: 'g', strict: null, description: null }] }),
    ).toEqual([f, { name: 'g', parameters: f.parameters }])
    expect(type).toBe('function')
  })

  test('with a free input are functions with one string, and so are their calls', () => {
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const input = [
      { type: 'custom_tool_call', call_id: '1', name: 'apply_patch', input: 'a\n"b"' },
      { type: 'custom_tool_call_output', call_id: '1', output: 'ok' },
    ]
    const { messages, tools } = requestOf({
      input,
      tools: [{ type: 'custom', name: 'apply_patch', description: 'Patches.', format: grammar }],
    })
    expect(tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: 'Patches.\n\nThe field "input" must match this lark grammar:\nstart: "x"',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string' } },
            required: ['input'],
            additionalProperties: false,
          },
        },
      },
    ])
    const called = { name: 'apply_patch', arguments: '{"input":"a\\n\\"b\\""}' }
    expect(messages[0]).toMatchObject({ tool_calls: [{ id: '1', function: called }] })
  })

  test('of namespaces have flat names, which lead back to both', () => {
    const long = 'x'.repeat(64)
    const { request, asked } = read({
      input: [{ ...call('1', 'get'), namespace: 'mcp__weather' }, output('1')],
      tools: [
        { type: 'namespace', name: 'mcp__weather', tools: [{ type: 'function', name: 'get' }] },
        { type: 'namespace', name: long, tools: [{ type: 'custom', name: 'exec' }] },
        { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b__c' }] },
        { type: 'namespace', name: 'a__b', tools: [{ type: 'function', name: 'c' }] },
        { type: 'function', name: 'mcp__weather__get' },
      ],
    })
    const names = (request.tools as { function: { name: string } }[]).map((tool) => tool.function.name)
    expect(new Set(names).size).toBe(5)
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/)
    expect(names.map(asked.toolOf)).toEqual([
      { kind: 'function', namespace: 'mcp__weather', name: 'get' },
      { kind: 'custom', namespace: long, name: 'exec' },
      { kind: 'function', namespace: 'a', name: 'b__c' },
      { kind: 'function', namespace: 'a__b', name: 'c' },
      { kind: 'function', name: 'mcp__weather__get' },
    ])
    expect(names[4], 'a function without a namespace keeps its name').toBe('mcp__weather__get')
    expect(request.messages[0]).toMatchObject({ tool_calls: [{ function: { name: names[0] } }] })
    expect(asked.toolOf('unknown')).toEqual({ kind: 'function', name: 'unknown' })
  })

  test('of an item are in the list, and those that a search found join it', () => {
    const found = {
      type: 'namespace',
      name: 'mcp',
      tools: [{ type: 'function', name: 'get', defer_loading: true }],
    }
    const { request, asked } = read({
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [functionTool, { type: 'tool_search', execution: 'client' }],
        },
        user,
        { type: 'tool_search_call', call_id: '1', execution: 'client', arguments: { query: 'q' } },
        { type: 'tool_search_output', call_id: '1', tools: [found] },
        { type: 'tool_search_call', call_id: '2', execution: 'client', arguments: { query: 'q' } },
        { type: 'tool_search_output', call_id: '2', tools: [found] },
      ],
    })
    const names = (request.tools as { function: { name: string } }[]).map((tool) => tool.function.name)
    expect(names).toEqual(['f', 'tool_search', 'mcp__get'])
    expect(asked.toolOf('tool_search')).toMatchObject({ kind: 'tool_search' })
    expect(asked.repeated.tools).toEqual([])
    expect(request.messages.slice(1, 3)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: '1', type: 'function', function: { name: 'tool_search', arguments: '{"query":"q"}' } },
        ],
      },
      { role: 'tool', tool_call_id: '1', content: '{"tools":["mcp__get"]}' },
    ])
  })

  test('that a provider would run are dropped and reported, with a choice of one', () => {
    const tools = [{ type: 'web_search' }, functionTool, { type: 'local_shell' }, { type: 'tool_search' }]
    const body = { input: 'Hi', tools, tool_choice: { type: 'web_search' } }
    expect(droppedOf(body)).toEqual([
      ['tools.web_search', 'tools[0]'],
      ['tools.local_shell', 'tools[2]'],
      ['tools.tool_search', 'tools[3]'],
      ['tool_choice', 'tool_choice'],
    ])
    expect(requestOf(body)).not.toHaveProperty('tool_choice')
    expect(read(body).asked.repeated.tools).toEqual([functionTool])
    expect(droppedOf({ input: 'Hi', tools: [{ type: { toString: 1, valueOf: 1 } }] })).toEqual([
      ['tools.unknown', 'tools[0]'],
    ])
    const none = {
      input: 'Hi',
      tools: [{ type: 'web_search' }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
    }
    expect(Object.keys(requestOf(none))).toEqual(['model', 'messages'])
  })

  test('that must be called are named as functions', () => {
    const tools = [functionTool, { type: 'custom', name: 'c' }, { type: 'function', name: 'g' }]
    const choiceOf = (tool_choice: unknown) => {
      const request = requestOf({ input: 'Hi', tools, tool_choice, parallel_tool_calls: false })
      return [request.tool_choice, (request.tools as unknown[]).length, request.parallel_tool_calls]
    }
    expect(choiceOf('required')).toEqual(['required', 3, false])
    expect(choiceOf({ type: 'function', name: 'f' })).toEqual([
      { type: 'function', function: { name: 'f' } },
      3,
      false,
    ])
    expect(choiceOf({ type: 'custom', name: 'c' })).toEqual([
      { type: 'function', function: { name: 'c' } },
      3,
      false,
    ])
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] }
    expect(choiceOf(allowed)).toEqual(['required', 1, false])
  })
})
