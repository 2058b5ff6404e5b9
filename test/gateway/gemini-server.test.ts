import { type Content, GoogleGenAI } from '@google/genai'
import { expect, onTestFinished, test } from 'vitest'
import { geminiApi, geminiKey, geminiToken, startGemini } from '../support/gemini.ts'
import {
  geminiArrayStream,
  geminiChunk,
  geminiError,
  geminiErrorBody,
  geminiEvent,
  geminiStream,
  geminiUsage,
  generated,
} from '../support/gemini-answers.ts'
import { contentRules } from '../support/gemini-content-rules.ts'
import { gemini3Pro, gemini25Flash, geminiEmbedding } from '../support/gemini-models.ts'
import { type Edit, edited, geminiRequests, png, weather } from '../support/gemini-requests.ts'
import { settingRules } from '../support/gemini-setting-rules.ts'
import { geminiSignature } from '../support/gemini-signature.ts'
import { startUpstream } from '../support/upstream.ts'

const model = gemini3Pro.id

async function started() {
  const server = await startUpstream({ api: geminiApi })
  onTestFinished(() => server.stop())
  return { server, ai: clientOf(server.url) }
}

function clientOf(url: string): GoogleGenAI {
  // The SDK's own version is v1, which lacks much of v1beta; and it tries again by itself.
  const httpOptions = { baseUrl: new URL(url).origin, retryOptions: { attempts: 1 } }
  return new GoogleGenAI({ apiKey: geminiKey, apiVersion: 'v1beta', httpOptions })
}

async function all<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

test('a request without a script gets Hello and every count of tokens, whole and as a stream', async () => {
  const { ai } = await started()
  const whole = await ai.models.generateContent({ model, contents: 'Hi' })
  expect([whole.text, whole.candidates?.[0]?.finishReason, { ...whole.usageMetadata }]).toEqual([
    'Hello',
    'STOP',
    geminiUsage,
  ])
  const pieces = await all(await ai.models.generateContentStream({ model, contents: 'Hi' }))
  expect(pieces.map(({ text }) => text)).toEqual(['Hel', 'lo', ''])
  expect(pieces.every(({ usageMetadata }) => usageMetadata?.promptTokenCount === 10)).toBe(true)
  expect({ ...pieces.at(-1)?.usageMetadata }).toEqual(geminiUsage)
})

test('candidates are as many as asked for', async () => {
  const { ai } = await started()
  const config = { candidateCount: 3 }
  const { candidates } = await ai.models.generateContent({ model: gemini25Flash.id, contents: 'Hi', config })
  expect(candidates?.map(({ index }) => index)).toEqual([0, 1, 2])
})

test('a stream has thoughts, signed text, signed calls, images and its reason to finish', async () => {
  const { server, ai } = await started()
  const signature = geminiSignature()
  server.answer(
    model,
    geminiStream([
      geminiChunk.thought('Let me see.'),
      geminiChunk.text('Look: ', signature),
      geminiChunk.image('image/png', png),
      geminiChunk.call('get_weather', { city: 'Kazan' }, signature, 'call-1'),
      geminiChunk.finish('MAX_TOKENS'),
    ]),
  )
  const pieces = await all(await ai.models.generateContentStream({ model, contents: 'Hi' }))
  const parts = pieces.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  expect(parts).toEqual([
    { text: 'Let me see.', thought: true },
    { text: 'Look: ', thoughtSignature: signature },
    { inlineData: { mimeType: 'image/png', data: png } },
    {
      functionCall: { id: 'call-1', name: 'get_weather', args: { city: 'Kazan' } },
      thoughtSignature: signature,
    },
    { text: '' },
  ])
  expect(pieces.at(-1)?.candidates?.[0]?.finishReason).toBe('MAX_TOKENS')
})

test('a blocked prompt has a reason and no candidate', async () => {
  const { server, ai } = await started()
  server.answer(model, geminiStream([geminiChunk.blocked('PROHIBITED_CONTENT')]))
  const [only] = await all(await ai.models.generateContentStream({ model, contents: 'Hi' }))
  expect([only?.promptFeedback?.blockReason, only?.candidates]).toEqual(['PROHIBITED_CONTENT', undefined])
})

test('three turns with parallel calls are accepted with the signatures that the server made', async () => {
  const { server, ai } = await started()
  const call = (city: string) => ({ functionCall: { name: 'get_weather', args: { city } } })
  server.answer(
    model,
    generated([{ ...call('Kazan'), thoughtSignature: geminiSignature('first') }, call('Omsk')]),
    generated([{ ...call('Perm'), thoughtSignature: geminiSignature('second') }]),
    generated('Rain.'),
  )
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Kazan, Omsk, Perm?' }] }]
  const config = { tools: [{ functionDeclarations: [weather] }] }
  for (;;) {
    const answer = await ai.models.generateContent({ model, contents, config })
    const calls = answer.functionCalls ?? []
    if (calls.length === 0) {
      expect(answer.text).toBe('Rain.')
      break
    }
    const content = answer.candidates?.[0]?.content
    if (content) contents.push(content)
    const parts = calls.map(({ name = '' }) => ({ functionResponse: { name, response: { output: 'rain' } } }))
    contents.push({ role: 'user', parts })
  }
  expect(server.requests.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
})

test('vectors have the dimensions that were asked for, and no usage', async () => {
  const { server, ai } = await started()
  const config = { outputDimensionality: 8, taskType: 'RETRIEVAL_QUERY' }
  const answer = await ai.models.embedContent({ model: geminiEmbedding.id, contents: ['a', 'b'], config })
  expect(answer.embeddings?.map(({ values }) => values?.length)).toEqual([8, 8])
  expect(server.requests[0]?.path).toBe('/v1beta/models/gemini-embedding-001:batchEmbedContents')
  const one = await post(server.url, '/models/gemini-embedding-001:embedContent', {
    content: { parts: [{ text: 'a' }] },
  })
  expect(Object.keys(one.body)).toEqual(['embedding'])
})

test('tokens are counted', async () => {
  const { ai } = await started()
  expect((await ai.models.countTokens({ model, contents: 'Hi' })).totalTokens).toBe(10)
})

test('models are listed, and each is shown', async () => {
  const { server, ai } = await started()
  const names = (await all(await ai.models.list())).map(({ name }) => name)
  expect(names).toContain(`models/${model}`)
  expect(server.requests[0]?.model).toBe('/models')
  expect((await ai.models.get({ model })).outputTokenLimit).toBe(65_536)
})

test('a server has other models where a test names them', async () => {
  const server = await startGemini({ models: [{ ...gemini3Pro, id: 'another' }] })
  onTestFinished(() => server.stop())
  const answer = await clientOf(server.url).models.generateContent({ model: 'another', contents: 'Hi' })
  expect([answer.text, server.requestsFor('another').length]).toEqual(['Hello', 1])
})

test.each([
  ['another version', 'POST', `/v1/models/${model}:generateContent`],
  ['an unknown method', 'POST', `/v1beta/models/${model}:generate`],
  ['a path of OpenAI', 'POST', '/v1beta/chat/completions'],
  ['a method as GET', 'GET', `/v1beta/models/${model}:generateContent`],
])('%s is not found, on a page instead of JSON', async (_, method, path) => {
  const { server } = await started()
  const { status, headers } = await fetch(new URL(path, server.url), { method })
  expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8'])
})

test('a stream without alt=sse is one JSON array, and its error a list of one', async () => {
  const { server } = await started()
  const path = `/models/${model}:streamGenerateContent`
  const contents = [{ parts: [{ text: 'Hi' }] }]
  const hello = await post(server.url, path, { contents })
  expect(hello.body).toHaveLength(3)
  server.answer(model, geminiArrayStream([geminiChunk.text('One'), geminiChunk.finish()]))
  expect((await post(server.url, path, { contents })).body).toHaveLength(2)
  expect((await post(server.url, path, {})).body).toEqual([
    geminiErrorBody(
      400,
      'INVALID_ARGUMENT',
      '* GenerateContentRequest.contents: contents is not specified\n',
    ),
  ])
  expect((await post(server.url, `${path}?alt=sse`, {})).body).toEqual(
    geminiErrorBody(
      400,
      'INVALID_ARGUMENT',
      '* GenerateContentRequest.contents: contents is not specified\n',
    ),
  )
})

test('an error reaches the SDK with its status and details, before a stream and in it', async () => {
  const { server, ai } = await started()
  const delay = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38s' }]
  const failure = [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', delay] as const
  const received = Promise.withResolvers<void>()
  // The SDK finds an error in a stream only where it is no event, and comes in its own packet.
  const error = { send: JSON.stringify(geminiErrorBody(...failure)) }
  const steps = [geminiEvent(geminiChunk.text('Hel')), { until: received.promise }, error]
  server.answer(model, geminiError(...failure), { ...geminiStream([]), steps })
  const whole = ai.models.generateContent({ model, contents: 'Hi' })
  await expect(whole).rejects.toMatchObject({ status: 429, message: expect.stringContaining('38s') })
  const stream = await ai.models.generateContentStream({ model, contents: 'Hi' })
  expect((await stream.next()).value?.text).toBe('Hel')
  received.resolve()
  await expect(stream.next()).rejects.toMatchObject({ status: 429 })
})

type Failure = {
  readonly code: number
  readonly status: string
  readonly message: string
  readonly details?: readonly { readonly reason?: string }[]
}

async function post(
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const key = Object.keys(headers).length === 0 ? { 'x-goog-api-key': geminiKey } : headers
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as { readonly error?: Failure } }
}

const { missing, unregistered, badKey, badToken } = {
  missing: `models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
  unregistered:
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  badKey: 'API key not valid. Please pass a valid API key.',
  badToken: 'Request had invalid authentication credentials.',
}

test.each<[string, string, Readonly<Record<string, string>>, number, string?, string?]>([
  ['a key in its header', model, { 'x-goog-api-key': geminiKey }, 200],
  ['a key in the address', `${model}?key`, { accept: '*/*' }, 200],
  ['an OAuth token', model, { authorization: `Bearer ${geminiToken}` }, 200],
  ['no key', model, { accept: '*/*' }, 403, 'PERMISSION_DENIED', unregistered],
  ['a wrong key', model, { 'x-goog-api-key': 'wrong' }, 400, 'INVALID_ARGUMENT', badKey],
  ['a key as token', model, { authorization: `Bearer ${geminiKey}` }, 401, 'UNAUTHENTICATED', badToken],
  ['an unknown model', 'gemini-9', { 'x-goog-api-key': geminiKey }, 404, 'NOT_FOUND', missing],
])('%s is answered as by the original', async (_, target, headers, status, name, message) => {
  const { server } = await started()
  const [id, query] = target.split('?')
  const path = `/models/${id}:generateContent${query === undefined ? '' : `?key=${geminiKey}`}`
  const answer = await post(server.url, path, { contents: [{ parts: [{ text: 'Hi' }] }] }, headers)
  expect([answer.status, answer.body.error?.status]).toEqual([status, name])
  expect(answer.body.error?.message ?? '').toContain(message ?? '')
  const reasons = (answer.body.error?.details ?? []).flatMap(
    ({ reason }: { reason?: string }) => reason ?? [],
  )
  if (message === badKey) expect(reasons).toEqual(['API_KEY_INVALID'])
})

test.each(Object.entries(geminiRequests))('what the SDK sends is accepted: %s', async (_, send) => {
  const { server, ai } = await started()
  await send(ai)
  expect(server.requests.map(({ fault }) => fault)).toEqual([undefined])
})

test.each([...contentRules, ...settingRules])(
  'rejected with the words of the original: %s',
  async (_, of, edit, message) => {
    const { server, ai } = await started()
    await geminiRequests[of](ai)
    const [accepted] = server.requests
    expect(accepted?.fault).toBeUndefined()
    const path = accepted?.path.replace('/v1beta', '') ?? ''
    const { status, body } = await post(server.url, path, edited(accepted?.body, edit))
    expect(body.error?.message).toBe(message)
    expect([status, body.error?.code, body.error?.status]).toEqual([400, 400, 'INVALID_ARGUMENT'])
    expect(server.requests[1]?.fault).toBe(message)
  },
)

const userText = { role: 'user', parts: [{ text: 'Hi' }] }

const same: readonly (readonly [name: string, of: keyof typeof geminiRequests, edit: Edit])[] = [
  [
    'the placeholder of the documentation',
    'calls',
    ['contents.1.parts.0.thoughtSignature', 'context_engineering_is_the_way_to_go'],
  ],
  [
    'the other placeholder',
    'calls',
    ['contents.1.parts.0.thoughtSignature', 'skip_thought_signature_validator'],
  ],
  ['a role of results', 'calls', ['contents.2.role', 'function']],
  ['no role', 'text', ['contents.0.role', undefined]],
  ['one content instead of a list', 'text', ['contents', userText]],
  ['names in snake_case', 'text', ['generation_config', { max_output_tokens: '7' }]],
  ['an int64 as number', 'schema', ['generationConfig.responseSchema.properties.tags.maxItems', 4]],
  ['an enum in lower case', 'thinking', ['generationConfig.thinkingConfig.thinkingLevel', 'low']],
  ['a budget of a Gemini 3 model', 'thinking', ['generationConfig.thinkingConfig', { thinkingBudget: -1 }]],
  ['names next to VALIDATED', 'tools', ['toolConfig.functionCallingConfig.mode', 'VALIDATED']],
]

test.each(same)('accepted as by the original: %s', async (_, of, edit) => {
  const { server, ai } = await started()
  await geminiRequests[of](ai)
  const [accepted] = server.requests
  const path = accepted?.path.replace('/v1beta', '') ?? ''
  expect((await post(server.url, path, edited(accepted?.body, edit))).status).toBe(200)
})
