import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { anthropicApi, message, streamedMessage, textBlock } from '../support/anthropic.ts'
import { prices } from '../support/billed-chat.ts'
import { messageItem, ownResponse, responsesApi, usageOf } from '../support/openai-responses.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { ways as modes } from '../support/spoken-turns.ts'
import { stackOfThisFile, untilListed } from '../support/stack.ts'
import { type Answer, startUpstream, type Upstream } from '../support/upstream.ts'

/** In everything that a provider can read or run for a request, besides its text. */
const mark = 'brought-in'
const url = `https://example.com/${mark}`
/** What a provider then counts; else every byte. */
const broughtTokens = 100_000
const contextLength = 128_000

/** Each is relayed as it came, or left out, or rejected; nothing of it may cost more than is held. */
const responsesWays: Readonly<Record<string, object>> = {
  'an image by its URL': part({ type: 'input_image', image_url: url, detail: 'high' }),
  'an image by its id': part({ type: 'input_image', file_id: mark }),
  'a file by its URL': part({ type: 'input_file', file_url: url }),
  'a file by its id': part({ type: 'input_file', file_id: mark }),
  'a part of a new type': part({ type: 'x_part', x_source: url }),
  'a new field of a part': part({ type: 'input_text', text: 'Hi', x_source: url }),
  'a new field of a message': { input: [{ role: 'user', content: 'Hi', x_source: url }] },
  'an item of a new type': { input: [user('Hi'), { type: 'x_item', x_source: url }] },
  'an image in an output': {
    input: [
      user('Hi'),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: url }] },
    ],
  },
  'a new field': { input: 'Hi', x_source: url },
  'a new tool': { input: 'Hi', tools: [{ type: 'x_tool', x_source: url }] },
  'a search of the web': {
    input: 'Hi',
    tools: [{ type: 'web_search', filters: { allowed_domains: [mark] } }],
  },
  'a search of files': { input: 'Hi', tools: [{ type: 'file_search', vector_store_ids: [mark] }] },
  'a server of tools': { input: 'Hi', tools: [{ type: 'mcp', server_label: 'm', server_url: url }] },
  'a search in a namespace': {
    input: 'Hi',
    tools: [
      {
        type: 'namespace',
        name: 'n',
        tools: [{ type: 'web_search', filters: { allowed_domains: [mark] } }],
      },
    ],
  },
  'a search among additional tools': {
    input: [
      user('Hi'),
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'web_search', user_location: { city: mark } }],
      },
    ],
  },
  'a stored prompt': { input: 'Hi', prompt: { id: mark } },
  'a conversation': { input: 'Hi', conversation: mark },
  'an earlier response': { input: 'Hi', previous_response_id: `resp_${mark}` },
  'a reference': { input: [user('Hi'), { type: 'item_reference', id: mark }] },
}

const messagesWays: Readonly<Record<string, object>> = {
  'an image by its URL': block({ type: 'image', source: { type: 'url', url } }),
  'a document by its URL': block({ type: 'document', source: { type: 'url', url } }),
  'a document by its id': block({ type: 'document', source: { type: 'file', file_id: mark } }),
  'an upload to a container': block({ type: 'container_upload', file_id: mark }),
  'a block of a new type': block({ type: 'x_block', x_source: url }),
  'a new field of a block': block({ type: 'text', text: 'Hi', x_source: url }),
  'a new field of a message': { messages: [{ role: 'user', content: 'Hi', x_source: url }] },
  'a document in a result': {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c',
            content: [{ type: 'document', source: { type: 'url', url } }],
          },
        ],
      },
    ],
  },
  'a block of the system': {
    ...block({ type: 'text', text: 'Hi' }),
    system: [{ type: 'x_block', x_source: url }],
  },
  'a new field': { ...block({ type: 'text', text: 'Hi' }), x_source: url },
  'a new tool': {
    ...block({ type: 'text', text: 'Hi' }),
    tools: [{ type: 'x_tool', name: 'x', x_source: url }],
  },
  'a search of the web': {
    ...block({ type: 'text', text: 'Hi' }),
    tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: [mark] }],
  },
  'a server of tools': {
    ...block({ type: 'text', text: 'Hi' }),
    mcp_servers: [{ type: 'url', url, name: 'm' }],
  },
  'a container': { ...block({ type: 'text', text: 'Hi' }), container: mark },
}

function user(content: unknown): object {
  return { role: 'user', content }
}

function part(content: object): object {
  return { input: [user([{ type: 'input_text', text: 'Hi' }, content])] }
}

function block(content: object): object {
  return { messages: [user([content])] }
}

type Api = {
  readonly path: string
  readonly ways: Readonly<Record<string, object>>
  readonly limit: object
  readonly server: Upstream
  readonly place: string
  readonly provider: Partial<ProviderDocument>
}

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const later = { faultOf: () => undefined }
const apis: Readonly<Record<'responses' | 'messages', Api>> = {
  responses: {
    path: '/responses',
    ways: responsesWays,
    limit: { max_output_tokens: 100 },
    server: await startUpstream({ api: { ...responsesApi, ...later } }),
    place: 'gpt-4o',
    provider: { quirks: 'openai' },
  },
  messages: {
    path: '/messages',
    ways: messagesWays,
    limit: { max_tokens: 100 },
    server: await startUpstream({ api: { ...anthropicApi, ...later } }),
    place: 'claude-haiku-4-5',
    provider: {
      api: 'Anthropic',
      headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
    },
  },
}
afterAll(() => Promise.all(Object.values(apis).map(({ server }) => server.stop())))

const promptOf = (bodyText: string) => (bodyText.includes(mark) ? broughtTokens : bodyText.length)
const answers: Readonly<Record<keyof typeof apis, Answer>> = {
  responses: ({ body, bodyText }) =>
    ownResponse(body, [messageItem('Hello')], { usage: usageOf({ input: promptOf(bodyText) }) }),
  messages({ body, bodyText }) {
    const usage = { input_tokens: promptOf(bodyText), output_tokens: 5 }
    const blocks = [textBlock('Hello')]
    return body.stream === true ? streamedMessage(blocks, { usage }) : message(blocks, { usage })
  },
}

let gateway: Process
const models = new Map<keyof typeof apis, string>()

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  for (const api of ['responses', 'messages'] as const) {
    const { server, place } = apis[api]
    server.answer(place, answers[api])
    const provider = await stack.createProvider({ ...apis[api].provider, baseUrl: server.url })
    const backends = [{ name: 'main', provider, model: place, priority: 0, weight: 1 }]
    models.set(api, await stack.createModel({ ...prices, backends, contextLength }))
  }
  const { key } = await stack.createCustomer()
  await untilListed(gateway, key, [...models.values()])
})

const cases = (['responses', 'messages'] as const).flatMap((api) =>
  Object.keys(apis[api].ways).flatMap((way) => modes.map((mode) => [api, way, mode] as const)),
)

test.each(cases)('what %s bring by %s is paid for, %s', async (api, way, mode) => {
  const { path, ways, limit, server, place } = apis[api]
  const before = server.requestsFor(place).length
  const { key, organizationId } = await stack.createCustomer()
  await untilListed(gateway, key, [...models.values()])
  const body = { model: models.get(api), ...limit, ...ways[way], stream: mode === 'streamed' }
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const sent = server.requestsFor(place).slice(before)
  if (response.status !== 200) {
    expect([400, 402], text).toContain(response.status)
    expect(sent).toEqual([])
    return
  }
  const [request] = sent
  const prompt = promptOf(request?.bodyText ?? '')
  const [booked] = (await settledBooks(stack, view, organizationId)).values()
  expect(booked?.costNano).toBe(BigInt(prompt) * prices.inputNano + 5n * prices.outputNano)
})
