import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  anthropicApi,
  anthropicError,
  message,
  messageStream,
  streamed,
  streamedMessage,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from '../support/anthropic.ts'
import { geminiApi, geminiKey } from '../support/gemini.ts'
import {
  geminiChunk,
  geminiError,
  geminiErrorBody,
  geminiStream,
  generated,
} from '../support/gemini-answers.ts'
import type { Process } from '../support/processes.ts'
import { createSealedProvider } from '../support/sealed-provider.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { type ProviderApi, type Script, startUpstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

type NativeApi = {
  readonly api: 'Anthropic' | 'Gemini'
  readonly server: ProviderApi
  readonly header: string
  readonly credential: string
  readonly modelId: string
  readonly error: (text: string) => Script
  /** A response with this in its thoughts, its text and the arguments of a call. */
  readonly whole: (text: string) => Script
  readonly streamed: (text: string) => Script
  readonly brokenStream: (text: string) => Script
}

const halvesOf = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)] as const

const { start, text: textSteps, error } = messageStream
const apis: readonly NativeApi[] = [
  {
    api: 'Anthropic',
    server: anthropicApi,
    header: 'x-api-key',
    credential: 'canary-of-anthropic-88',
    modelId: 'claude-haiku-4-5',
    error: (text) => anthropicError(400, 'invalid_request_error', text),
    whole: (text) => message([thinkingBlock(text), textBlock(text), toolUseBlock('toolu_1', 'f', { text })]),
    streamed: (text) =>
      streamedMessage([thinkingBlock(text), textBlock(text), toolUseBlock('toolu_1', 'f', { text })]),
    brokenStream: (text) => streamed([start(), ...textSteps(0, ['Hello']), error('api_error', text)]),
  },
  {
    api: 'Gemini',
    server: geminiApi,
    header: 'x-goog-api-key',
    credential: geminiKey,
    modelId: 'gemini-2.5-flash',
    error: (text) => geminiError(400, 'INVALID_ARGUMENT', text),
    whole: (text) =>
      generated([{ text, thought: true }, { text }, { functionCall: { name: 'f', args: { text } } }]),
    streamed: (text) =>
      geminiStream([
        ...halvesOf(text).map(geminiChunk.thought),
        ...halvesOf(text).map((half) => geminiChunk.text(half)),
        geminiChunk.call('f', { text }),
        geminiChunk.finish(),
      ]),
    brokenStream: (text) => geminiStream([geminiChunk.text('Hello'), geminiErrorBody(500, 'INTERNAL', text)]),
  },
]

const messages = [{ role: 'user', content: 'x' }]
const tools = [{ type: 'function', function: { name: 'f' } }]

/** A message, or a part of one. */
type Said = {
  readonly content?: string | null
  readonly reasoning_content?: string
  readonly reasoning_details?: readonly { readonly text?: string }[]
  readonly tool_calls?: readonly { readonly function?: { readonly arguments?: string } }[]
}
type Whole = { readonly choices: readonly [{ readonly message: Said }] }

function saidIn({ content, reasoning_content, reasoning_details = [], tool_calls = [] }: Said) {
  return {
    content: content ?? '',
    reasoning: reasoning_content ?? '',
    details: reasoning_details.map(({ text = '' }) => text).join(''),
    arguments: tool_calls.map((call) => call.function?.arguments ?? '').join(''),
  }
}

/** The same of all chunks of a stream. */
function joined(text: string) {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'))
  const parts = frames.map((frame) => saidIn(JSON.parse(frame.slice('data: '.length)).choices[0].delta))
  const all = (name: keyof (typeof parts)[number]) => parts.map((part) => part[name]).join('')
  return {
    content: all('content'),
    reasoning: all('reasoning'),
    details: all('details'),
    arguments: all('arguments'),
  }
}

describe.each(apis)('the credential of a provider with the API of $api is never shown whole', (native) => {
  const { api, server, header, credential, modelId } = native

  /** A new customer of a model whose provider has the credential, and gives this answer. */
  async function serve(script: Script) {
    const upstream = await startUpstream({ api: server })
    onTestFinished(() => upstream.stop())
    upstream.answer(modelId, script)
    const name = await createSealedProvider(stack, { api, baseUrl: upstream.url, header, credential })
    const backends = [{ name: 'main', provider: name, model: modelId, priority: 0, weight: 1 }]
    const model = await stack.createModel({ backends })
    const { key } = await stack.createCustomer()
    await untilServed(gateway, key, model)
    return { model, key, upstream }
  }

  test.each([false, true])('in an error (stream: %s)', async (stream) => {
    const { model, key } = await serve(native.error(`bad key ${credential}`))
    const answer = await post(gateway, key, { model, messages, stream })
    const text = await answer.text()
    expect(answer.status).toBe(400)
    expect(text).toContain('[hidden]')
    expect(text).not.toContain(credential)
  })

  test.each([false, true])('in thoughts, text and arguments (stream: %s)', async (stream) => {
    const script = stream
      ? native.streamed(`my key is ${credential}.`)
      : native.whole(`my key is ${credential}.`)
    const { model, key, upstream } = await serve(script)
    const answer = await post(gateway, key, { model, messages, tools, stream })
    const said = stream
      ? joined(await answer.text())
      : saidIn(((await answer.json()) as Whole).choices[0].message)
    const hidden = 'my key is [hidden].'
    expect(said).toMatchObject({ content: hidden, arguments: JSON.stringify({ text: hidden }) })
    // A piece of signed reasoning is shown at once, so the beginning of a credential may be, and its rest is not.
    for (const thought of [said.reasoning, said.details])
      expect(thought).toMatch(
        api === 'Anthropic' && stream ? /^my key is \S*\[hidden\]\.$/ : /^(?:my key is \[hidden\]\.)?$/,
      )
    expect(said.reasoning).toContain('[hidden]')
    expect(JSON.stringify(said)).not.toContain(credential)
    expect(upstream.requests[0]?.headers[header]).toBe(credential)
  })

  test('in an error after the content of a stream', async () => {
    const { model, key } = await serve(native.brokenStream(`bad key ${credential}`))
    const answer = await post(gateway, key, { model, messages, stream: true })
    const text = await answer.text()
    expect(text).toMatch(/"content":"Hello"[\s\S]*"error"/)
    expect(text).not.toContain(credential)
  })
})
