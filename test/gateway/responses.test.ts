import { randomBytes } from 'node:crypto'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import type {
  FunctionTool,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ToolSearchOutputNamespaceTool,
} from 'openai/resources/responses/responses'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { findRub } from '#core/ledger/money'
import { startAnthropic, thinkingBlock } from '../support/anthropic.ts'
import { asReported, prices, reported } from '../support/billed-chat.ts'
import { geminiSignature } from '../support/gemini-signature.ts'
import { readMetric } from '../support/read-metric.ts'
import { expectResponse, expectStream, readEvents } from '../support/response-events.ts'
import { servedCustomersOfThisFile } from '../support/served-customers.ts'
import { settledBooks } from '../support/settled-books.ts'
import { everyKindAndWay, type Way, ways } from '../support/spoken-turns.ts'
import { post, untilServed } from '../support/stack.ts'
import { goodStream, streamHeaders } from '../support/upstream.ts'

const { stack, view, gateway, clientOf, serve } = await servedCustomersOfThisFile(
  (gateway, apiKey) => new OpenAI({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 }),
)
const anthropic = await startAnthropic()
afterAll(() => anthropic.stop())

type Fields = { readonly [field: string]: unknown }
type Served = Awaited<ReturnType<typeof serve>>
type Ask = Omit<ResponseCreateParamsNonStreaming, 'model'>

/** The response to one request, by either way of the SDK. */
async function ask({ client, model }: Pick<Served, 'client' | 'model'>, way: Way, body: Ask) {
  if (way === 'whole') {
    const response = await client.responses.create({ model, ...body })
    expectResponse(response)
    return response
  }
  return client.responses.stream({ model, ...body, stream: true }).finalResponse()
}

function send(
  { customer, model }: Served,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${gateway().baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, ...body }),
  })
}

const input = 'Say hello'
const lookUp: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object' },
  strict: false,
}
const weather = { type: 'object', properties: { city: { type: 'string' } } }

describe.each(everyKindAndWay)("OpenAI's SDK, with a backend of %s, %s", (kind, way) => {
  test('reads words, and what they cost', async () => {
    const served = await serve(kind, [{ text: 'Hello' }])
    const response = await ask(served, way, { input, instructions: 'Be brief.', max_output_tokens: 100 })
    expect(response).toMatchObject({
      output_text: 'Hello',
      status: 'completed',
      model: served.model,
      store: false,
    })
    expect(response.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    const limited = { max_tokens: 100 }
    expect(served.sent()).toMatchObject([
      kind === 'Gemini' ? { generationConfig: { maxOutputTokens: 100 } } : limited,
    ])
    expect(JSON.stringify(served.sent())).toContain('Be brief.')
  })

  test('parses an answer by a schema', async () => {
    const served = await serve(kind, [{ text: '{"city":"Kazan"}' }])
    const { output_parsed: parsed } = await served.client.responses.parse({
      model: served.model,
      input,
      text: { format: zodTextFormat(z.object({ city: z.string() }), 'place') },
    })
    expect(parsed).toEqual({ city: 'Kazan' })
  })

  test('runs functions over three turns, two at once in the first', async () => {
    const served = await serve(kind, [
      {
        thought: 'Two at once.',
        text: 'I look.',
        calls: [
          { id: 'toolu_1', name: 'get_weather', arguments: { city: 'Kazan' } },
          { id: 'toolu_2', name: 'get_weather', arguments: { city: 'Ufa' } },
        ],
      },
      { thought: 'One more.', calls: [{ id: 'toolu_3', name: 'get_weather', arguments: {} }] },
      { text: 'Done' },
    ])
    const history: ResponseInputItem[] = [{ role: 'user', content: input }]
    const asked: Partial<Ask> = { tools: [lookUp], reasoning: { effort: 'low' }, max_output_tokens: 4_096 }
    const called: string[] = []
    let text = ''
    for (let turn = 0; turn < 3; turn += 1) {
      const { output, output_text } = await ask(served, way, { ...asked, input: history })
      history.push(...(output as ResponseInputItem[]))
      for (const item of output) {
        if (item.type !== 'function_call') continue
        called.push(item.arguments)
        history.push({
          type: 'function_call_output',
          call_id: item.call_id,
          output: `result of ${item.call_id}`,
        })
      }
      text = output_text
    }
    expect(text).toBe('Done')
    expect(called.map((json) => JSON.parse(json))).toEqual([{ city: 'Kazan' }, { city: 'Ufa' }, {}])
    const last = JSON.stringify(served.sent().at(-1))
    for (const id of ['toolu_1', 'toolu_2', 'toolu_3']) expect(last).toContain(`result of ${id}`)
    if (kind === 'Anthropic')
      expect(last).toContain(JSON.stringify(thinkingBlock('Two at once.')).slice(1, -1))
    if (kind === 'Gemini')
      for (const id of ['toolu_1', 'toolu_3']) expect(last).toContain(geminiSignature(id))
  })

  test('runs a tool with free input, one of a namespace, and one that a search found', async () => {
    const patch = '*** Begin Patch\n+"a" \\ 😀\n*** End Patch'
    const served = await serve(kind, [
      { calls: [{ id: 'toolu_1', name: 'tool_search', arguments: { query: 'weather' } }] },
      { calls: [{ id: 'toolu_2', name: 'mcp__weather__get', arguments: { city: 'Kazan' } }] },
      { calls: [{ id: 'toolu_3', name: 'apply_patch', arguments: { input: patch } }] },
      { text: 'Done' },
    ])
    const tools = [
      {
        type: 'custom',
        name: 'apply_patch',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
      },
      { type: 'tool_search', execution: 'client', parameters: weather },
    ] as const
    const found: ToolSearchOutputNamespaceTool = {
      type: 'namespace',
      name: 'mcp__weather',
      description: 'Weather',
      tools: [{ type: 'function', name: 'get', parameters: weather }],
    }
    const history: ResponseInputItem[] = [{ role: 'user', content: input }]
    const next = async () => {
      const { output } = await ask(served, way, { input: history, tools: [...tools] })
      history.push(...(output as ResponseInputItem[]))
      return output.find(({ type }) => type !== 'reasoning')
    }
    expect(await next()).toMatchObject({
      type: 'tool_search_call',
      call_id: 'toolu_1',
      execution: 'client',
      arguments: { query: 'weather' },
    })
    history.push({ type: 'tool_search_output', call_id: 'toolu_1', execution: 'client', tools: [found] })
    expect(await next()).toMatchObject({
      type: 'function_call',
      call_id: 'toolu_2',
      namespace: 'mcp__weather',
      name: 'get',
    })
    history.push({
      type: 'function_call_output',
      call_id: 'toolu_2',
      output: [{ type: 'input_text', text: 'Sun' }],
    })
    expect(await next()).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: patch })
    history.push({ type: 'custom_tool_call_output', call_id: 'toolu_3', output: 'Applied' })
    expect(await next()).toMatchObject({ type: 'message' })
    const last = JSON.stringify(served.sent().at(-1))
    expect(last).toContain('mcp__weather__get')
    expect(last).toContain('Applied')
  })

  test('learns that an answer is not whole', async () => {
    const served = await serve(kind, [{ text: 'Hel', end: 'length' }])
    const response = await ask(served, way, { input, max_output_tokens: 100 })
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    expect(response.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'Hel' }] }])
  })

  test('learns that the model declined', async () => {
    const served = await serve(kind, [{ refusal: 'I cannot.' }])
    const { output, status, incomplete_details } = await ask(served, way, { input })
    if (kind === 'Gemini') {
      expect(incomplete_details).toEqual({ reason: 'content_filter' })
      return
    }
    expect(status).toBe('completed')
    expect(output).toMatchObject([{ type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] }])
  })

  test('pays what the same turn costs by chat, by header, ledger, receipt and response', async () => {
    const served = await serve(kind, [{ text: 'Hello' }])
    const { customer, model } = served
    const messages = [{ role: 'user', content: input }]
    const stream = way === 'streamed'
    await (await post(gateway(), customer.key, { model, messages, stream })).text()
    const answer = await send(served, { input, stream })
    const id = answer.headers.get('x-gateway-request-id') ?? ''
    const text = await answer.text()
    const response = stream ? expectStream(readEvents(text)) : JSON.parse(text)
    const shown = findRub(String((response.usage as Fields).cost_rub))
    const books = await settledBooks(stack, view, customer.organizationId, { requests: 2 })
    const [one, other] = [...books.values()]
    expect(one?.costNano).toBe(10n * prices.inputNano + 5n * prices.outputNano)
    expect(other?.costNano).toBe(one?.costNano)
    expect(shown).toBe(one?.costNano)
    expect(findRub(answer.headers.get('x-gateway-cost-rub') ?? '')).toBe(stream ? undefined : shown)
    expect(books.get(id)?.record).toMatchObject({ endpoint: 'chat', apiFormat: 'responses' })
    const receipt = await served.client.get<Fields>(`/requests/resp_${id}`)
    expect(receipt).toMatchObject({
      id,
      endpoint: 'chat',
      api_format: 'responses',
      cost_rub: (response.usage as Fields).cost_rub,
    })
  })
})

describe('reasoning', () => {
  const thought = { thought: 'A thought – 😀.', text: 'Hello' }
  const asked = { input, reasoning: { effort: 'low' }, max_output_tokens: 4_096 } as const
  const next = { role: 'user', content: 'Go on' } as const
  const thinkingIn = (body: Fields | undefined) =>
    ((body?.messages ?? []) as { content: Fields[] }[]).flatMap(({ content }) =>
      content.filter(({ type }) => type === 'thinking'),
    )

  test.each(ways)('is shown as a summary, and its signature returns byte for byte, %s', async (way) => {
    const served = await serve('Anthropic', [thought])
    const { output } = await ask(served, way, asked)
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: thought.thought }] },
      { type: 'message' },
    ])
    expect(JSON.stringify(output)).not.toContain(String(thinkingBlock(thought.thought).signature))
    await ask(served, way, {
      ...asked,
      input: [{ role: 'user', content: input }, ...(output as ResponseInputItem[]), next],
    })
    expect(thinkingIn(served.sent().at(-1))).toEqual([thinkingBlock(thought.thought)])
  })

  test('of another organization, or damaged, is left out, and the request is served', async () => {
    const served = await serve('Anthropic', [thought])
    const { output } = await ask(served, 'whole', asked)
    const [reasoning, message] = output as [Fields & { encrypted_content: string }, ResponseInputItem]
    const other = clientOf((await stack.createCustomer()).key)
    const history = (item: object) => ({
      ...asked,
      input: [{ role: 'user', content: input }, item, message, next] as ResponseInputItem[],
    })
    await vi.waitFor(() => ask({ ...served, client: other }, 'whole', history(reasoning)), {
      timeout: 10_000,
    })
    expect(thinkingIn(served.sent().at(-1))).toEqual([])
    for (const encrypted_content of ['', 'gAAAA', reasoning.encrypted_content.slice(0, -2)]) {
      await ask(served, 'whole', history({ ...reasoning, encrypted_content }))
      expect(thinkingIn(served.sent().at(-1))).toEqual([])
    }
    await ask(served, 'whole', history(reasoning))
    expect(thinkingIn(served.sent().at(-1))).toHaveLength(1)
  })

  test('returns to the provider that signed it, and to no other', async () => {
    const [first, second] = await Promise.all([
      serve('Anthropic', [thought]),
      serve('OpenAI', [{ text: 'Hi' }]),
    ])
    const { output } = await ask(first, 'whole', asked)
    await vi.waitFor(() => untilServed(gateway(), first.customer.key, second.model))
    const history = [
      { role: 'user', content: input },
      ...(output as ResponseInputItem[]),
      next,
    ] as ResponseInputItem[]
    await ask({ client: first.client, model: second.model }, 'whole', { ...asked, input: history })
    const body = JSON.stringify(second.sent().at(-1))
    expect(body).not.toMatch(/signature|encrypted|gateway/)
  })

  test('that is bound to its conversation stays valid over a loop of tools', async () => {
    const id = `claude-opus-5-${randomBytes(4).toString('hex')}`
    const provider = await stack.createProvider({
      api: 'Anthropic',
      baseUrl: anthropic.url,
      headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
    })
    const model = await stack.createModel({
      backends: [{ name: 'main', provider, model: id, priority: 0, weight: 1 }],
    })
    const customer = await stack.createCustomer()
    await untilServed(gateway(), customer.key, model)
    const history: ResponseInputItem[] = [{ role: 'user', content: input }]
    for (let turn = 0; turn < 3; turn += 1) {
      const { output } = await ask({ client: clientOf(customer.key), model }, 'whole', {
        ...asked,
        instructions: 'Be brief.',
        input: history,
      })
      history.push(...(output as ResponseInputItem[]), next)
    }
    const requests = anthropic.requestsFor(id)
    expect(requests.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
    expect(thinkingIn(requests.at(-1)?.body)).toHaveLength(2)
  })
})

describe('a stream', () => {
  const { role, say, finish, usage, done } = goodStream

  test('that its provider breaks off ends with an error and the part that came, which is charged', async () => {
    const served = await serve('OpenAI', [{ steps: [role, say('Some '), say('words'), { cut: 'fin' }] }])
    const text = await (await send(served, { input, stream: true })).text()
    const events = readEvents(text)
    expect(events.at(-2)).toMatchObject({ type: 'error', code: 'server_error' })
    expect(expectStream(events)).toMatchObject({
      status: 'failed',
      output: [{ content: [{ text: 'Some words' }] }],
    })
    const [booked] = (await settledBooks(stack, view, served.customer.organizationId)).values()
    expect(booked?.record).toMatchObject({ outcome: 'upstream_cut', status: 200, usageSource: 'estimated' })
    const stream = served.client.responses.create({ model: served.model, input, stream: true })
    await expect(
      (async () => {
        for await (const event of await stream) expect(event.type).not.toBe('response.completed')
      })(),
    ).rejects.toMatchObject({ code: 'server_error' })
  })

  test('that its client leaves is read to its end, and charged by the counts of its provider', async () => {
    let goOn = () => {}
    const until = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const served = await serve('OpenAI', [
      { steps: [role, say('Some words'), { until }, say(' more'), finish(), usage(reported), done] },
    ])
    const stream = await served.client.responses.create({ model: served.model, input, stream: true })
    for await (const { type } of stream) if (type === 'response.output_text.delta') break
    await vi.waitFor(async () => expect(await readMetric(gateway(), 'abandoned_requests')).toBe(1))
    goOn()
    const [booked] = (await settledBooks(stack, view, served.customer.organizationId)).values()
    expect(booked).toMatchObject({
      costNano: asReported.costNano,
      record: { outcome: 'client_gone', usageSource: 'provider' },
    })
  })

  test('waits with its end until its charge is settled, and each write is whole frames', async () => {
    const served = await serve('OpenAI', [{ text: 'Hello' }])
    const answer = await send(served, { input, stream: true })
    expect(answer.headers.get('content-type')).toBe(streamHeaders['content-type'])
    for await (const bytes of answer.body ?? [])
      expect(Buffer.from(bytes).toString().endsWith('\n\n')).toBe(true)
    const { money } = view
    expect((await money(served.customer.organizationId)).held).toBe(0n)
  })
})
