import { randomBytes } from 'node:crypto'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import { startAnthropic } from '../support/anthropic.ts'
import { prices } from '../support/billed-chat.ts'
import type { Customer } from '../support/customer.ts'
import {
  acceptedBodies,
  callItem,
  encryptedBy,
  itemEvents,
  messageItem,
  ownResponse,
  ownStream,
  reasoningItem,
  responsesApi,
  usageOf,
} from '../support/openai-responses.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { expectStream, readEvents } from '../support/response-events.ts'
import { createSealedProvider } from '../support/sealed-provider.ts'
import { settledBooks } from '../support/settled-books.ts'
import { type Way, ways } from '../support/spoken-turns.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Answer, refusal, type Script, type Step, startUpstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const upstream = await startUpstream({ api: responsesApi })
const anthropic = await startAnthropic()
afterAll(() => Promise.all([upstream.stop(), anthropic.stop()]))
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
})

type Fields = { readonly [field: string]: unknown }
type Served = {
  readonly id: string
  readonly model: string
  readonly customer: Customer
  readonly provider?: string
}

const secret = `sk-own-${randomBytes(8).toString('hex')}`

const provider = () =>
  createSealedProvider(stack, {
    quirks: 'openai',
    baseUrl: upstream.url,
    header: 'api-key',
    credential: secret,
  })

/** A new customer of a new model of OpenAI's, which answers so. */
async function serve(answers: readonly Answer[] = [], fields: object = {}): Promise<Served> {
  const id = `gpt-4o-${randomBytes(4).toString('hex')}`
  const [first, ...others] = answers
  if (first !== undefined) upstream.answer(id, first, ...others)
  const at = await provider()
  const backends = [{ name: 'main', provider: at, model: id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ ...prices, backends, attempts: 2, ...fields })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { id, model, customer, provider: at }
}

const input = 'Say hello'

function send({ customer, model }: Served, body: object, headers: Record<string, string> = {}) {
  return fetch(`${gateway.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, ...body }),
  })
}

/** The response as its client has it in the end. */
async function respond(served: Served, way: Way, body: object, headers = {}): Promise<Fields> {
  const response = await send(served, { ...body, stream: way === 'streamed' }, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  if (way === 'whole') return JSON.parse(text)
  return frames(text).at(-1)?.response as Fields
}

/** Events of any type, published or not. */
function frames(text: string): readonly Fields[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('event: '))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)))
}

const sent = ({ id }: Served) => acceptedBodies(upstream.requestsFor(id))
const answering =
  (items: Parameters<typeof ownResponse>[1], fields: Fields = {}): Answer =>
  ({ body }) =>
    ownResponse(body, items, fields)

/** The data of an event as several lines, which server-sent events may have. */
function inLines(step: Step): Step {
  return 'send' in step && typeof step.send === 'string'
    ? { ...step, send: step.send.replace(/,"/, ',\ndata: "') }
    : step
}

async function onlyCharge({ customer }: Served) {
  const [only] = (await settledBooks(stack, view, customer.organizationId)).values()
  return only ?? expect.fail('nothing was booked')
}

describe.each(ways)('a backend with the Responses API, %s', (way) => {
  test('gets the own request of the client, and its response leaves with our id, model and cost', async () => {
    const served = await serve([
      answering([messageItem('Hello')], { usage: usageOf({ cached: 4, reasoning: 2 }) }),
    ])
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }]
    const asked = { input, tools, metadata: { a: 'b' }, max_output_tokens: 100, text: { verbosity: 'low' } }
    const response = await respond(served, way, { ...asked, store: true })
    expect(sent(served)).toEqual([{ ...asked, model: served.id, store: false, stream: way === 'streamed' }])
    expect(response).toMatchObject({ model: served.model, status: 'completed', store: false })
    const { costNano, record } = await onlyCharge(served)
    expect(response.id).toBe(`resp_${String(response.id).slice('resp_'.length)}`)
    expect(response.id).not.toBe('resp_own')
    expect(record.tokens).toMatchObject({ input: 6, cachedInput: 4, output: 3, reasoning: 2 })
    const { cost_rub: cost, ...counts } = response.usage as Fields
    expect(findRub(String(cost))).toBe(costNano)
    expect(counts).toEqual(usageOf({ cached: 4, reasoning: 2 }))
    expect(costNano).toBe(10n * prices.inputNano + 5n * prices.outputNano)
  })

  const invented = { 'x-openai-invented': 'yes', 'openai-invented': 'yes', 'x-codex-invented': 'yes' }

  test('passes on fields, items, tools and events that are new', async () => {
    const extra = { type: 'x_item', id: 'x_1', x_text: 'New' }
    const long = '12345678901234567890'
    const event = {
      type: 'response.x_event',
      output_index: 0,
      x_number: 12_345_678_901_234_567_890n.toString(),
    }
    const answer: Answer = ({ body }) =>
      body.stream === true
        ? ownStream(body, [event, ...itemEvents([messageItem('Hello'), extra])], {
            output: [messageItem('Hello'), extra],
            x_field: { deep: [1] },
            x_long: JSON.rawJSON(long),
          })
        : ownResponse(body, [messageItem('Hello'), extra], {
            x_field: { deep: [1] },
            x_long: JSON.rawJSON(long),
          })
    const served = await serve([answer])
    const asked = {
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'x_input', x_value: [true, null] },
      ],
      tools: [{ type: 'x_tool', x_setting: 1.5 }],
      x_parameter: { a: [1, 2] },
    }
    const response = await send(
      served,
      { ...asked, stream: way === 'streamed' },
      {
        ...invented,
        'x-forwarded-for': '10.0.0.9',
        'x-customer-name': 'Ivanov',
        'openai-organization': 'org-of-the-client',
        'x-openai-authorization': 'Bearer of-the-client',
        cookie: 'of=the-client',
      },
    )
    expect(response.headers.get('x-gateway-dropped-params')).toBe('')
    const text = await response.text()
    expect(sent(served)).toMatchObject([asked])
    const [request] = upstream.requestsFor(served.id)
    expect(request?.headers).toMatchObject({ ...invented, 'api-key': secret })
    expect(JSON.stringify(request?.headers)).not.toMatch(/10\.0\.0\.9|Ivanov|of-the-client/)
    expect(text).toContain(`"x_long":${long}`)
    const whole = way === 'whole' ? JSON.parse(text) : frames(text).at(-1)?.response
    expect(whole).toMatchObject({ x_field: { deep: [1] }, output: [{ type: 'message' }, extra] })
    if (way === 'streamed') {
      expect(frames(text)).toContainEqual({ ...event, sequence_number: 2 })
      expect(frames(text).map(({ sequence_number }) => sequence_number)).toEqual([...frames(text).keys()])
    }
  })

  test('costs what the same turn costs by chat', async () => {
    const served = await serve([answering([messageItem('Hello')])])
    const response = await respond(served, way, { input })
    const chat = await stack.createModel(prices)
    const customer = await stack.createCustomer()
    await untilServed(gateway, customer.key, chat)
    const asked = { model: chat, messages: [{ role: 'user', content: input }] }
    const answer = await post(gateway, customer.key, asked)
    expect((response.usage as Fields).cost_rub).toBe(answer.headers.get('x-gateway-cost-rub'))
  })

  test('gets its reasoning back as it encrypted it, and only that of its account and organization', async () => {
    const thought = `A thought ${randomBytes(4).toString('hex')}`
    const answer = answering([reasoningItem(thought), messageItem('Hello')])
    const served = await serve([answer])
    const { output } = await respond(served, way, { input, include: ['reasoning.encrypted_content'] })
    const items = output as readonly Fields[]
    const encrypted = String(items[0]?.encrypted_content)
    expect(encrypted).not.toContain(encryptedBy(thought))
    const next = [{ role: 'user', content: input }, ...items, { role: 'user', content: 'And now?' }]
    await respond(served, way, { input: next })
    expect(JSON.stringify(sent(served).at(-1))).toContain(encryptedBy(thought))

    const other = await serve([answer])
    await respond({ ...served, customer: other.customer }, way, { input: next })
    const bare = sent(served).at(-1)?.input as readonly Fields[]
    expect(bare.map(({ type, role }) => type ?? role)).toEqual(['user', 'message', 'user'])

    const damaged = next.map((item) =>
      'encrypted_content' in item ? { ...item, encrypted_content: encrypted.slice(0, -9) } : item,
    )
    await respond(served, way, { input: damaged })
    expect(JSON.stringify(sent(served).at(-1))).not.toContain('encrypted_content')

    await untilServed(gateway, served.customer.key, other.model)
    await respond({ ...other, customer: served.customer }, way, { input: next })
    expect(sent(other)).toHaveLength(1)
    expect(JSON.stringify(sent(other)), 'another account').not.toContain('encrypted_content')
  })

  test('is not sent tools that it would run and bill, or more expensive tiers; both are reported', async () => {
    const served = await serve([answering([messageItem('Hello')])])
    const search = { type: 'web_search' }
    const own = { type: 'function', name: 'f', parameters: null, strict: null }
    const response = await send(served, {
      input,
      tools: [search, own, { type: 'namespace', name: 'n', description: 'd', tools: [own] }],
      tool_choice: search,
      service_tier: 'priority',
      stream: way === 'streamed',
    })
    await response.text()
    expect(
      response.headers
        .get('x-gateway-dropped-params')
        ?.split(',')
        .map((name) => name.trim()),
    ).toEqual(['service_tier', 'tools.web_search', 'tool_choice'])
    const [body] = sent(served)
    expect(body).toMatchObject({ tools: [own, { type: 'namespace' }], tool_choice: 'auto' })
    expect(body?.service_tier).toBeUndefined()
  })

  test('is sent no such tool in an item with encrypted content', async () => {
    const served = await serve([answering([reasoningItem('secret'), messageItem('Hello')])])
    const { output } = (await respond(served, way, { input })) as { output: readonly Fields[] }
    const brought = { ...output[0], type: 'x_input', tools: [{ type: 'web_search' }] }
    await respond(served, way, { input: [brought, { role: 'user', content: input }] })
    const last = JSON.stringify(sent(served).at(-1))
    expect(last).toContain('encrypted_content')
    expect(last).not.toContain('web_search')
  })

  test('may answer with nothing but a call that has no name', async () => {
    const call = {
      type: 'tool_search_call',
      id: 'ts_1',
      call_id: 'call_1',
      execution: 'client',
      status: 'completed',
      arguments: { query: 'q' },
    }
    const served = await serve([answering([call])])
    expect(await respond(served, way, { input })).toMatchObject({ status: 'completed', output: [call] })
    expect(upstream.requestsFor(served.id)).toHaveLength(1)
  })

  test('may run tools that its route requests', async () => {
    const search = { type: 'web_search' }
    const parameters = { drop: ['metadata'], rename: {}, defaults: { tools: [search], temperature: 0.5 } }
    const call = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    }
    const served = await serve([answering([call, messageItem('Hello')])], { parameters })
    await respond(served, way, { input, metadata: { a: 'b' } })
    await respond(served, way, { input, tools: [search], temperature: 1 })
    const [first, second] = sent(served)
    expect(first).toMatchObject({ tools: [search], temperature: 0.5 })
    expect(first?.metadata).toBeUndefined()
    expect(second).toMatchObject({ tools: [search], temperature: 1 })
  })

  test('that runs a tool unasked is counted', async () => {
    const call = { type: 'x_tool_call', id: 'x_1', status: 'completed' }
    const served = await serve([answering([call, messageItem('Hello')])])
    await respond(served, way, { input })
    const series = `server_tools_run_total{provider="${served.provider}",tool="other"}`
    await vi.waitFor(async () => expect(await readMetric(gateway, series)).toBe(1))
  })

  test('takes over from one with another API, and the other way round', async () => {
    const claude = `claude-haiku-4-5-${randomBytes(4).toString('hex')}`
    const own = `gpt-4o-${randomBytes(4).toString('hex')}`
    const other = await stack.createProvider({
      api: 'Anthropic',
      baseUrl: anthropic.url,
      headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
    })
    const backend = (name: string, at: string, model: string, priority: number) => ({
      name,
      provider: at,
      model,
      priority,
      weight: 1,
    })
    const at = await provider()
    for (const [ownAt, otherAt] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const backends = [backend('own', at, own, ownAt), backend('other', other, claude, otherAt)]
      const model = await stack.createModel({ ...prices, backends, attempts: 2 })
      const customer = await stack.createCustomer()
      await untilServed(gateway, customer.key, model)
      const failing = ownAt === 0 ? upstream : anthropic
      const failed: Script = refusal(500, 'It broke.')
      if (ownAt === 0) upstream.answer(own, failed)
      else {
        upstream.answer(own, answering([messageItem('Hello')]))
        anthropic.answer(claude, failed)
      }
      const response = await respond({ id: own, model, customer }, way, {
        input,
        tools: [{ type: 'x_tool' }],
      })
      expect(response).toMatchObject({ model, status: 'completed' })
      expect(failing.requests.length).toBeGreaterThan(0)
    }
  })

  test('hides the credential of the provider', async () => {
    const served = await serve([
      answering([messageItem(`It is ${secret}, really.`), callItem('f', { secret })]),
    ])
    const response = await respond(served, way, { input })
    expect(JSON.stringify(response)).not.toContain(secret)
    expect(JSON.stringify(response)).toContain('It is [hidden], really.')
  })
})

test("OpenAI's SDK reads a relayed stream, whose events have the published types", async () => {
  const items = [reasoningItem('A thought'), messageItem('Hello'), callItem('f', { a: 1 })]
  const served = await serve([answering(items)])
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: served.customer.key, maxRetries: 0 })
  const final = await client.responses.stream({ model: served.model, input }).finalResponse()
  expect(final.output_text).toBe('Hello')
  const response = await send(served, { input, stream: true })
  expectStream(readEvents(await response.text()))
})

test('a credential in pieces is hidden, and the numbers of events have no gaps', async () => {
  const text = `It is ${secret}.`
  const events = itemEvents([messageItem(text)], text.length)
  const served = await serve([({ body }) => ownStream(body, events, { output: [messageItem(text)] })])
  const relayed = readEvents(await (await send(served, { input, stream: true })).text())
  const deltas = relayed.filter(({ type }) => type === 'response.output_text.delta')
  expect(deltas.map(({ delta }) => delta).join('')).toBe('It is [hidden].')
  expectStream(relayed)
})

test('a stream that breaks off ends with both events of a failure, and is charged by what was delivered', async () => {
  const events = itemEvents([messageItem('Some words that were delivered.')]).slice(0, 4)
  const served = await serve([({ body }) => ownStream(body, events, { end: 'none' })])
  const relayed = frames(await (await send(served, { input, stream: true })).text())
  expect(relayed.slice(-2)).toMatchObject([
    { type: 'error', code: 'server_error' },
    {
      type: 'response.failed',
      response: { model: served.model, status: 'failed', output: [{ status: 'incomplete' }] },
    },
  ])
  expect(relayed.map(({ sequence_number }) => sequence_number)).toEqual([...relayed.keys()])
  const { record } = await onlyCharge(served)
  expect(record).toMatchObject({ outcome: 'upstream_cut', usageSource: 'estimated' })
})

test('a provider that continues beyond its limit is cut off', async () => {
  const text = 'word '.repeat(4_000)
  const served = await serve([
    ({ body }) => ownStream(body, itemEvents([messageItem(text)], 200), { output: [messageItem(text)] }),
  ])
  const relayed = frames(await (await send(served, { input, stream: true, max_output_tokens: 50 })).text())
  const last = relayed.at(-1)?.response as Fields
  expect(last).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  expect(JSON.stringify(last.output).length).toBeLessThan(text.length / 2)
  const deltas = relayed.flatMap(({ delta }) => delta ?? [])
  expect(last.output).toMatchObject([{ content: [{ text: deltas.join('') }] }])
  expect(relayed.map(({ sequence_number }) => sequence_number)).toEqual([...relayed.keys()])
})

test('an event of several lines arrives whole', async () => {
  const script: Answer = ({ body }) => {
    const { steps, ...others } = ownStream(body, itemEvents([messageItem('Hello')]), {
      output: [messageItem('Hello')],
    })
    return { ...others, steps: steps?.map(inLines) ?? [] }
  }
  const served = await serve([script])
  const relayed = readEvents(await (await send(served, { input, stream: true })).text())
  expectStream(relayed)
})

test('a failure before the first content is made good elsewhere', async () => {
  const failing: Answer = ({ body }) =>
    ownStream(body, [], { status: 'failed', error: { code: 'server_error', message: 'It broke.' } })
  const served = await serve([failing, answering([messageItem('Hello')])])
  const response = await respond(served, 'streamed', { input })
  expect(response).toMatchObject({ status: 'completed' })
  expect(upstream.requestsFor(served.id)).toHaveLength(2)
})

test('a compaction is asked of a backend with this API, and rejected elsewhere', async () => {
  const compacted = { type: 'compaction', id: 'cmp_1', encrypted_content: encryptedBy('all of it') }
  const served = await serve([answering([compacted])])
  const asked = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }]
  const { output } = await respond(served, 'streamed', { input: asked })
  expect(sent(served).at(-1)?.input).toEqual(asked)
  const [item] = output as readonly Fields[]
  await respond(served, 'streamed', { input: [item, { role: 'user', content: 'Go on' }] })
  expect(JSON.stringify(sent(served).at(-1)?.input)).toContain(encryptedBy('all of it'))

  const chat = await stack.createModel(prices)
  await untilServed(gateway, served.customer.key, chat)
  const rejected = await send({ ...served, model: chat }, { input: asked })
  expect(rejected.status).toBe(400)
  expect(await rejected.json()).toMatchObject({ error: { param: 'input[1]' } })
})

test('a strict client may return a compaction, but only to the provider that made it', async () => {
  const compacted = { type: 'compaction', id: 'cmp_1', encrypted_content: encryptedBy('all of it') }
  const served = await serve([answering([compacted]), answering([messageItem('Hello')])])
  const strict = { 'x-gateway-strict-params': 'true' }
  const asked = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }]
  const { output } = await respond(served, 'whole', { input: asked }, strict)
  const next = { input: [...(output as readonly Fields[]), { role: 'user', content: 'Go on' }] }
  await respond(served, 'whole', next, strict)
  expect(JSON.stringify(sent(served).at(-1)?.input)).toContain(encryptedBy('all of it'))

  const other = await serve([answering([messageItem('Hello')])])
  const rejected = await send({ ...other, customer: served.customer }, next, strict)
  expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining('input.compaction')])
  expect(sent(other)).toEqual([])
})

test.each(ways)('encrypted content within items is of one organization, too, %s', async (way) => {
  const hidden = `hidden ${randomBytes(4).toString('hex')}`
  const part = { type: 'x_part', encrypted_content: encryptedBy(hidden) }
  const agent = { type: 'x_agent', id: 'x_1', messages: [{ content: [part] }] }
  const served = await serve([answering([agent, messageItem('Hello')])])
  const { output } = await respond(served, way, { input })
  expect(JSON.stringify(output)).not.toContain(encryptedBy(hidden))
  const [item] = output as readonly Fields[]
  const next = { input: [item, { role: 'user', content: 'Go on' }] }
  await respond(served, way, next)
  expect(sent(served).at(-1)?.input).toMatchObject([agent, {}])

  const other = await stack.createCustomer()
  await untilServed(gateway, other.key, served.model)
  await respond({ ...served, customer: other }, way, next)
  expect(sent(served).at(-1)?.input).toMatchObject([{ role: 'user' }])
})

test('a limit of the route below the least of the API is not sent', async () => {
  const served = await serve([answering([messageItem('Hello')])], { maxOutputTokens: 8 })
  await respond(served, 'whole', { input, max_output_tokens: 100 })
  expect(sent(served)).toMatchObject([{ max_output_tokens: 16 }])
})

test('a strict client is served if its backend gets all of its request', async () => {
  const served = await serve([answering([messageItem('Hello')])])
  const strict = { 'x-gateway-strict-params': 'true' }
  expect((await send(served, { input, x_parameter: 1 }, strict)).status).toBe(200)
  const rejected = await send(served, { input, tools: [{ type: 'web_search' }] }, strict)
  expect(rejected.status).toBe(400)
  expect(JSON.stringify(await rejected.json())).toContain('tools.web_search')
})
