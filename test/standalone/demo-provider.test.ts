import { once } from 'node:events'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type DemoProvider, startDemoProvider } from '#standalone/demo-provider/start-demo-provider'
import { launch } from '../support/standalone.ts'

let demo: DemoProvider
let client: OpenAI

beforeAll(async () => {
  demo = await startDemoProvider({ port: 0 })
  client = new OpenAI({ baseURL: demo.url, apiKey: 'none', maxRetries: 0 })
})

afterAll(() => demo.stop())

const messages = [
  { role: 'system' as const, content: 'Be brief.' },
  { role: 'user' as const, content: 'One two three' },
]

test('echo repeats the last user message, and counts', async () => {
  const answer = await client.chat.completions.create({ model: 'echo', messages })
  expect(answer.choices[0]).toMatchObject({ message: { content: 'One two three' }, finish_reason: 'stop' })
  expect(answer.usage).toEqual({ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 })
})

test('echo streams, with usage when asked, and keeps to the limit', async () => {
  const stream = client.chat.completions.stream({
    model: 'echo',
    messages,
    n: 2,
    max_tokens: 2,
    stream_options: { include_usage: true },
  })
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const said = chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === 1))
  expect(said.map(({ delta }) => delta.content ?? '').join('')).toBe('One two')
  expect(said.at(-1)?.finish_reason).toBe('length')
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  })
})

test('slow sends 20 tokens a second', async () => {
  const startedAtMs = performance.now()
  const stream = await client.chat.completions.create({
    model: 'slow',
    messages,
    max_tokens: 6,
    stream: true,
  })
  let text = ''
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  expect(text).toBe('One two threeOne two three')
  expect(performance.now() - startedAtMs).toBeGreaterThan(6 * 50 - 30)
})

test('embed makes the same vector of the same text, in either format, and similar ones of similar texts', async () => {
  const input = ['the red fox', 'the red hen', 'something else entirely', 'the red fox']
  const { data, usage } = await client.embeddings.create({ model: 'embed', input, encoding_format: 'float' })
  const [fox = [], hen = [], other = [], again] = data.map(({ embedding }) => embedding)
  expect(again).toEqual(fox)
  const likeness = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
  expect(likeness(fox, fox)).toBeCloseTo(1, 9)
  expect(likeness(fox, hen)).toBeGreaterThan(likeness(fox, other))
  expect(usage).toEqual({ prompt_tokens: 12, total_tokens: 12 })
  const decoded = await client.embeddings.create({ model: 'embed', input: 'the red fox' }) // asks for base64
  expect(decoded.data[0]?.embedding.map((value) => value.toFixed(5))).toEqual(
    fox.map((value) => value.toFixed(5)),
  )
  const longer = await client.embeddings.create({ model: 'embed', input: [[1, 2]], dimensions: 32 })
  expect(longer.data[0]?.embedding).toHaveLength(32)
  await expect(client.embeddings.create({ model: 'embed', input: [] })).rejects.toMatchObject({
    status: 400,
    param: 'input',
  })
})

test('error fails, an unknown model is not found, a bad request is refused by its field', async () => {
  const ask = (body: object) =>
    client.post('/chat/completions', { body }).then(
      () => undefined,
      (error: unknown) => error,
    )
  expect(await ask({ model: 'error', messages })).toMatchObject({ status: 500, type: 'server_error' })
  expect(await ask({ model: 'gpt-9', messages })).toMatchObject({ status: 404, code: 'model_not_found' })
  expect(await ask({ model: 'echo' })).toMatchObject({ status: 400, param: 'messages' })
  expect(await ask({ model: 'echo', messages, temperature: 3 })).toMatchObject({
    status: 400,
    param: 'temperature',
  })
  expect(await ask({ model: 'echo', messages, top_k: 1 })).toMatchObject({ status: 400 })
  expect(await ask({ model: 'echo', messages: [{ role: 'user', content: [{ type: 'x' }] }] })).toMatchObject({
    param: 'messages[0]',
  })
  expect(await ask({ model: 'echo', messages, stream_options: {} })).toMatchObject({
    param: 'stream_options',
  })
})

test('calls of custom tools may be in the history, as SDKs send an answer back', async () => {
  const call = { id: 'call_1', type: 'custom' as const, custom: { name: 'run', input: 'print(1)' } }
  const answer = await client.chat.completions.create({
    model: 'echo',
    messages: [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '1' },
    ],
  })
  expect(answer.choices[0]?.message.content).toBe('One two three')
})

test('as a process it listens at its configured address, and ends when its last answer has', async () => {
  const child = launch('standalone/demo-provider/main.ts', {
    DEMO_PROVIDER_HOST: '127.0.0.9',
    DEMO_PROVIDER_PORT: '0',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const { baseUrl, port } = JSON.parse(String(line))
  // On 127.0.0.1 another process may have the same port.
  await expect(fetch(`http://127.0.0.10:${port}/v1`)).rejects.toThrow('fetch failed')
  const elsewhere = new OpenAI({ baseURL: baseUrl, apiKey: 'none', maxRetries: 0 })
  const stream = await elsewhere.chat.completions.create({
    model: 'slow',
    messages,
    max_tokens: 10,
    stream: true,
  })
  const exited = once(child, 'exit')
  let text = ''
  for await (const { choices } of stream) {
    if (text === '' && choices[0]?.delta.content === 'One') child.kill('SIGTERM')
    text += choices[0]?.delta.content ?? ''
  }
  expect(text).toBe('One two threeOne two threeOne two threeOne')
  expect(await exited).toEqual([0, null])
})

test('a wrong setting is named', async () => {
  const child = launch('standalone/demo-provider/main.ts', { DEMO_PROVIDER_PORT: 'http' })
  const [said] = await once(child.stderr, 'data')
  expect(String(said)).toContain('DEMO_PROVIDER_PORT: must be a port number')
  expect(await once(child, 'exit')).toEqual([1, null])
})
