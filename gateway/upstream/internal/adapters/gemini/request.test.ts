import { describe, expect, test } from 'vitest'
import { rejectionOf, type Settings, sentFor } from './written-chat.fixture.ts'

const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, additionalProperties: false }
const tool = (name: string, fields: object = {}) => ({ type: 'function', function: { name, ...fields } })
const flash = { model: 'gemini-2.5-flash' }
const plainModel = { model: 'gemini-2.0-flash' }

const configOf = async (request: object, settings: Settings = plainModel) =>
  (await sentFor(request, settings)).sent.generationConfig

describe('settings', () => {
  test('have Gemini’s names', async () => {
    const { sent, dropped } = await sentFor(
      {
        temperature: 0.5,
        top_p: 0.9,
        max_completion_tokens: 7,
        stop: ['a', '', 'b'],
        seed: 5,
        n: 3,
        presence_penalty: 1,
        frequency_penalty: -1,
        logprobs: true,
        top_logprobs: 2,
        user: 'u',
        metadata: { a: 'b' },
        parallel_tool_calls: false,
        store: true,
        service_tier: 'flex',
        googleSearch: {},
        safetySettings: [],
      },
      plainModel,
    )
    expect(sent.generationConfig).toEqual({
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 7,
      stopSequences: ['a', 'b'],
      seed: 5,
      candidateCount: 3,
      presencePenalty: 1,
      frequencyPenalty: -1,
      responseLogprobs: true,
      logprobs: 2,
    })
    expect(Object.keys(sent).toSorted()).toEqual(['contents', 'generationConfig'])
    const unsent = ['user', 'metadata', 'parallel_tool_calls', 'store', 'service_tier']
    expect(dropped).toEqual([...unsent, 'googleSearch', 'safetySettings'])
  })

  test('a request without any has none; one stop is a list; one answer and no stop are the default', async () => {
    expect(await configOf({ n: 1, stop: '' })).toBeUndefined()
    expect(await configOf({ stop: 'x' })).toEqual({ stopSequences: ['x'] })
  })

  test('more answers than the model gives are dropped and reported', async () => {
    const { sent, dropped } = await sentFor({ n: 2 })
    expect(sent.generationConfig).not.toHaveProperty('candidateCount')
    expect(dropped).toEqual(['n'])
    expect((await sentFor({ n: 9 }, plainModel)).dropped).toEqual(['n'])
  })

  test('a seed beyond an int32 is cut, the same each time', async () => {
    expect((await configOf({ seed: 2 ** 40 + 5 })).seed).toBe(5)
    expect((await configOf({ seed: 2 ** 31 })).seed).toBe(-(2 ** 31))
  })

  test('what a model rejects is dropped and reported', async () => {
    const request = { presence_penalty: 1, logprobs: true, temperature: 1 }
    expect((await sentFor(request, flash)).dropped).toEqual(['presence_penalty', 'logprobs'])
    expect((await sentFor(request, { model: 'models/gemini-3.6-flash' })).dropped).toEqual(
      Object.keys(request),
    )
  })
})

describe('thinking', () => {
  const thinkingOf = async (model: string, reasoning_effort?: string) => {
    const { sent, dropped } = await sentFor(reasoning_effort ? { reasoning_effort } : {}, { model })
    return [sent.generationConfig?.thinkingConfig, dropped.length === 0] as const
  }
  const level = (thinkingLevel: string) => ({ thinkingLevel, includeThoughts: true })
  const budget = (thinkingBudget: number) => ({ thinkingBudget, includeThoughts: true })

  test.each([
    ['gemini-3-pro-preview', undefined, { includeThoughts: true }, true],
    ['gemini-3-pro-preview', 'none', level('LOW'), false],
    ['gemini-3-pro-preview', 'low', level('LOW'), true],
    ['gemini-3-pro-preview', 'medium', level('HIGH'), false],
    ['gemini-3.1-pro-preview', 'medium', level('MEDIUM'), true],
    ['gemini-3-flash-preview', 'none', level('MINIMAL'), false],
    ['gemini-3-flash-preview', 'minimal', level('MINIMAL'), true],
    ['gemini-3.7-flash', 'minimal', level('LOW'), false],
    ['models/gemini-flash-latest', 'xhigh', level('HIGH'), false],
    ['gemini-2.5-flash', undefined, { includeThoughts: true }, true],
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }, true],
    ['gemini-2.5-flash', 'low', budget(1024), true],
    ['gemini-2.5-flash', 'medium', budget(8192), true],
    ['gemini-2.5-flash', 'high', budget(24_576), true],
    ['gemini-2.5-pro', 'none', budget(1024), false],
    ['gemini-2.5-pro', 'max', budget(24_576), false],
    ['gemini-2.5-flash-lite', undefined, undefined, true],
    ['gemini-2.5-flash-lite', 'low', budget(1024), true],
    ['gemini-2.5-flash-image', 'low', undefined, false],
    ['gemini-2.0-flash', 'low', undefined, false],
    ['gemini-2.0-flash', undefined, undefined, true],
  ])('%s, asked for %s', async (model, effort, config, isAsAsked) => {
    expect(await thinkingOf(model, effort)).toEqual([config, isAsAsked])
  })

  test('an unknown level is a 400', async () => {
    expect(await rejectionOf({ reasoning_effort: 'huge' })).toMatchObject({ param: 'reasoning_effort' })
  })
})

describe('response formats', () => {
  const json_schema = { name: 'answer', strict: true, schema }
  const asked = { response_format: { type: 'json_schema', json_schema } }
  const config = { responseMimeType: 'application/json', responseJsonSchema: schema }

  test('are a media type, and a schema as it came', async () => {
    expect(await configOf(asked)).toEqual(config)
    expect(await configOf({ response_format: { type: 'json_object' } })).toEqual({
      responseMimeType: 'application/json',
    })
    expect(await configOf({ response_format: { type: 'text' } })).toBeUndefined()
  })

  test('go into the prompt next to functions, before Gemini 3', async () => {
    const { sent, dropped } = await sentFor({ ...asked, tools: [tool('f')] }, plainModel)
    expect(sent).not.toHaveProperty('generationConfig')
    expect(sent.systemInstruction.parts[0].text).toContain(JSON.stringify(schema))
    expect(dropped).toEqual(['response_format'])
    const json = { response_format: { type: 'json_object' }, tools: [tool('f')] }
    expect((await sentFor(json, plainModel)).sent.systemInstruction.parts[0].text).toContain('JSON')
    const text = { response_format: { type: 'text' }, tools: [tool('f')] }
    expect((await sentFor(text, plainModel)).dropped).toEqual([])
    const next = await sentFor({ ...asked, tools: [tool('f')] })
    expect([next.sent.generationConfig, next.dropped]).toMatchObject([config, []])
  })

  test.each([
    [{ type: 'grammar' }, 'response_format.type'],
    [{ type: 'json_schema', json_schema: { name: 'x' } }, 'response_format.json_schema.schema'],
  ])('%j is a 400', async (response_format, param) => {
    expect(await rejectionOf({ response_format })).toMatchObject({ kind: 'bad_request', param })
  })
})

describe('tools', () => {
  const tools = [tool('f', { description: 'does', strict: true, parameters: schema }), tool('a/b')]
  const callingOf = async (tool_choice: unknown) =>
    (await sentFor({ tools, tool_choice })).sent.toolConfig?.functionCallingConfig

  test('are declarations with their schemas as they came, numbers beyond 2^53 too', async () => {
    const maximum = JSON.rawJSON('12345678901234567890')
    const { sent, text } = await sentFor({ tools: [...tools, tool('c', { parameters: { maximum } })] })
    const [declared, renamed] = sent.tools[0].functionDeclarations
    expect(declared).toEqual({ name: 'f', description: 'does', parametersJsonSchema: schema })
    expect(renamed).toEqual({ name: expect.stringMatching(/^a_b_[0-9a-f]{8}$/) })
    expect(text).toContain('"parametersJsonSchema":{"maximum":12345678901234567890}')
    expect(sent).not.toHaveProperty('toolConfig')
  })

  test.each([
    ['auto', undefined],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [tool('f'), { mode: 'ANY', allowedFunctionNames: ['f'] }],
    [tool('a/b'), { mode: 'ANY', allowedFunctionNames: [expect.stringMatching(/^a_b_/)] }],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('f')] } },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tool('f')] } },
      { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
    ],
  ])('tool_choice %j', async (choice, config) => {
    expect(await callingOf(choice)).toEqual(config)
  })

  test('a choice without tools is nothing', async () => {
    expect((await sentFor({ tool_choice: 'required', tools: [] })).sent).not.toHaveProperty('toolConfig')
  })

  test('two hundred tools, names with dots and names of 100 characters, are mapped back and forth', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `${at}${'.name'.repeat(20)}`.slice(0, 100))
    const { sent, call } = await sentFor({ tools: names.map((name) => tool(name)) })
    const declared: readonly { readonly name: string }[] = sent.tools[0].functionDeclarations
    expect(declared.every(({ name }) => /^[A-Za-z_][\w.:-]{0,63}$/.test(name))).toBe(true)
    expect(new Set(declared.map(({ name }) => name)).size).toBe(200)
    const parts = declared.map(({ name }) => ({ functionCall: { name, args: {} } }))
    const answer = call.readAnswer(JSON.stringify({ candidates: [{ content: { parts } }] }))
    const message = { tool_calls: names.map((name) => ({ function: { name, arguments: '{}' } })) }
    expect(answer).toMatchObject({ answer: { choices: [{ message }] } })
  })

  test.each([
    [{ tools: [{ type: 'custom', custom: { name: 'c' } }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].type'],
    [{ tools: [tool('f'), tool('f')] }, 'tools[1].function.name'],
    [{ tools, tool_choice: tool('g') }, 'tool_choice.function.name'],
    [{ tools, tool_choice: { type: 'custom' } }, 'tool_choice'],
    [
      { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { tools: [tool('g')] } } },
      'tool_choice.allowed_tools.tools[0].function.name',
    ],
  ])('%j is a 400', async (request, param) => {
    expect(await rejectionOf(request)).toMatchObject({ kind: 'bad_request', param })
  })
})

test('a route’s own parameters go where the API has them', async () => {
  const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }]
  const defaults = {
    safetySettings,
    cachedContent: 'cachedContents/a',
    serviceTier: 'priority',
    topK: 3,
    thinkingConfig: { thinkingBudget: 5 },
    generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW', temperature: 2 },
    toolConfig: { retrievalConfig: {} },
    googleSearch: {},
    urlContext: {},
  }
  const request = { temperature: 1, tools: [tool('f')], tool_choice: 'required' }
  const { sent, dropped } = await sentFor(request, { ...plainModel, parameters: { defaults } })
  expect(dropped).toEqual([])
  expect(sent).toMatchObject({
    safetySettings,
    cachedContent: 'cachedContents/a',
    serviceTier: 'priority',
    tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }, { urlContext: {} }],
    toolConfig: { retrievalConfig: {}, functionCallingConfig: { mode: 'ANY' } },
    generationConfig: {
      mediaResolution: 'MEDIA_RESOLUTION_LOW',
      temperature: 1,
      topK: 3,
      thinkingConfig: { thinkingBudget: 5 },
    },
  })
})

test('a route’s own way of thinking counts unless the caller asks for another', async () => {
  const own = { parameters: { defaults: { thinkingConfig: { thinkingLevel: 'LOW' } } } }
  expect((await sentFor({}, own)).sent.generationConfig).toEqual({ thinkingConfig: { thinkingLevel: 'LOW' } })
  const asked = await sentFor({ reasoning_effort: 'high' }, own)
  expect(asked.sent.generationConfig.thinkingConfig).toEqual({ thinkingLevel: 'HIGH', includeThoughts: true })
})
