import { once } from 'node:events'
import { createServer } from 'node:http'
import OpenAI from 'openai'
import type { Response as ModelResponse, ResponseInputItem } from 'openai/resources/responses/responses'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createKey, revokeKey } from '#core/keys/key-store'
import { type Customer, pepper, uuidV7 } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { expectResponse, expectStream, readEvents } from '../support/response-events.ts'
import { inTestScope } from '../support/scope.ts'
import { spokenModelsOfThisFile } from '../support/spoken-models.ts'
import { type BackendKind, backendKinds, type SpokenTurn, ways } from '../support/spoken-turns.ts'
import { type CustomerOptions, stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
const models = await spokenModelsOfThisFile(stack)
const { pool } = stack.database
let cabinetUrl: string
let gateways: readonly [Process, Process]

beforeAll(async () => {
  await stack.startWorker()
  const web = await stack.startWeb()
  cabinetUrl = new URL(web.baseUrl).origin
  const start = () => stack.startGateway({ CABINET_URL: cabinetUrl })
  gateways = [await start(), await start()]
})

type Fields = { readonly [field: string]: unknown }

const clientOf = (customer: Customer, gateway: Process) =>
  new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })

/** A customer whose key keeps responses for an hour, of a model that answers so; a client of each gateway. */
async function serve(
  turns: readonly SpokenTurn[],
  { kind = 'OpenAI', ...options }: CustomerOptions & { readonly kind?: BackendKind } = {},
) {
  const { model, sent } = await models.create(kind, turns)
  const customer = await stack.createCustomer({ keepsResponsesHours: 1, ...options })
  for (const gateway of gateways) await untilServed(gateway, customer.key, model)
  const [one, other] = gateways.map((gateway) => clientOf(customer, gateway))
  if (one === undefined || other === undefined) throw new Error('two gateways')
  return { model, customer, sent, one, other }
}

type Called = Awaited<ReturnType<typeof call>>

async function call(gateway: Process, { key }: Customer, method: string, path: string, body?: object) {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status, headers } = response
  return { status, headers, body: (await response.json()) as Fields & { readonly error: Fields } }
}

const streamed = (client: OpenAI, body: Parameters<OpenAI['responses']['stream']>[0]) =>
  client.responses.stream(body).finalResponse()

describe.each(backendKinds)('with a backend of %s', (kind) => {
  test.each(ways)('a conversation goes on at another gateway, %s', async (way) => {
    const { model, sent, one, other } = await serve([{ text: 'Blue' }, { text: 'You said blue' }], { kind })
    const ask = (client: OpenAI, body: { input: string; previous_response_id?: string }) =>
      way === 'whole'
        ? client.responses.create({ model, ...body })
        : streamed(client, { model, ...body, stream: true })
    const first = await ask(one, { input: 'My color?' })
    expect(first).toMatchObject({ store: true, previous_response_id: null })
    const second = await ask(other, { input: 'What did I say?', previous_response_id: first.id })
    expect(second).toMatchObject({
      store: true,
      previous_response_id: first.id,
      output_text: 'You said blue',
    })
    const texts = JSON.stringify(sent().at(-1))
    expect(texts).toMatch(/My color\?.*Blue.*What did I say\?/s)
    const third = await ask(one, { input: 'And now?', previous_response_id: second.id })
    expect(third.status).toBe('completed')
    expect(JSON.stringify(sent().at(-1))).toMatch(
      /My color\?.*Blue.*What did I say\?.*You said blue.*And now\?/s,
    )
  })
})

/** As the AI SDK does by default: what came is referred to, and only outputs of tools are sent. */
test.each(['OpenAI', 'Anthropic'] as const)(
  'a loop of tools that refers to items completes over two gateways, with a backend of %s',
  async (kind) => {
    const callOf = (id: string) => ({ id, name: 'get_weather', arguments: { city: id } })
    const turns: readonly SpokenTurn[] = [
      { thought: 'Hm.', calls: [callOf('c1')] },
      { thought: 'Again.', calls: [callOf('c2')] },
      { text: 'Warm' },
    ]
    const { model, sent, one, other } = await serve(turns, { kind })
    const tools = [
      { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false },
    ] as const
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Weather?' }]
    let response: ModelResponse | undefined
    for (const client of [one, other, one]) {
      response = await client.responses.create({ model, input, tools: [...tools] })
      for (const item of response.output) {
        input.push({ type: 'item_reference', id: String(item.id) })
        if (item.type === 'function_call')
          input.push({ type: 'function_call_output', call_id: item.call_id, output: 'warm' })
      }
    }
    expect(response).toMatchObject({ output_text: 'Warm', store: true })
    expect(JSON.stringify(sent().at(-1))).toMatch(/Weather\?.*c1.*warm.*c2.*warm/s)
  },
)

test('a stored response is read, listed and deleted at any gateway', async () => {
  const { model, customer, one, other } = await serve([{ text: 'Hello' }])
  const response = await one.responses.create({ model, input: 'Hi', instructions: 'Be brief.' })
  const { output_text: _made, ...plain } = response
  const stored = await other.responses.retrieve(response.id)
  expectResponse(stored)
  expect(stored).toMatchObject(JSON.parse(JSON.stringify(plain)))
  const items = await other.responses.inputItems.list(response.id)
  expect(items.data).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }])
  expect(await call(gateways[1], customer, 'DELETE', `/responses/${response.id}`)).toMatchObject({
    status: 200,
    body: { id: response.id, object: 'response', deleted: true },
  })
  for (const [method, path] of [
    ['GET', `/responses/${response.id}`],
    ['GET', `/responses/${response.id}/input_items`],
    ['DELETE', `/responses/${response.id}`],
  ] as const)
    expect(await call(gateways[0], customer, method, path)).toMatchObject({
      status: 404,
      body: { error: { code: 'response_not_found' } },
    })
})

test('every event of a stream has the published type, and the last one shows that it is stored', async () => {
  const { model, customer } = await serve([{ text: 'Hello' }])
  const answer = await fetch(`${gateways[0].baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hi', stream: true }),
  })
  expect(expectStream(readEvents(await answer.text()))).toMatchObject({ store: true })
})

test('errors name what the client sent, and reasoning that is not stored is dropped', async () => {
  const { model, customer, one } = await serve([{ text: 'Hello' }])
  const { id: previous_response_id } = await one.responses.create({ model, input: 'Hi' })
  const ask = (fields: object) => call(gateways[1], customer, 'POST', '/responses', { model, ...fields })
  const output = { type: 'function_call_output', call_id: 'none', output: 'x' }
  const faulty = await ask({ previous_response_id, input: [{ role: 'user', content: 'x' }, output] })
  expect(faulty).toMatchObject({
    status: 400,
    body: { error: { param: 'input[1].call_id', message: expect.stringContaining('input[1].call_id') } },
  })
  const input = [
    { role: 'user', content: 'x' },
    { type: 'item_reference', id: `rs_${uuidV7()}` },
  ]
  const dropped = await ask({ previous_response_id, input })
  expect(dropped.status).toBe(200)
  expect(dropped.headers.get('x-gateway-dropped-params')).toBe('input.item_reference')
  expect(dropped.body.store).toBe(true)
})

test('nothing is stored unless key and request ask for it, and a reference names the setting', async () => {
  const { model, one, customer } = await serve([{ text: 'Hello' }])
  const unasked = await one.responses.create({ model, input: 'Hi', store: false })
  expect(unasked).toMatchObject({ store: false })
  expect((await call(gateways[0], customer, 'GET', `/responses/${unasked.id}`)).status).toBe(404)

  const plain = await serve([{ text: 'Hello' }], { keepsResponsesHours: null })
  const response = await plain.one.responses.create({ model: plain.model, input: 'Hi', store: true })
  expect(response).toMatchObject({ store: false })
  const { rows } = await pool.query('select from stored_responses where organization_id = $1', [
    plain.customer.organizationId,
  ])
  expect(rows).toEqual([])
  const body = { model: plain.model, input: 'Hi', previous_response_id: response.id }
  const refused = await call(gateways[0], plain.customer, 'POST', '/responses', body)
  expect(refused).toMatchObject({
    status: 400,
    body: {
      error: { param: 'previous_response_id', message: expect.stringContaining('openai.store: false') },
    },
  })
})

/** Another key of an organization. */
async function siblingOf({ organizationId }: Customer): Promise<Customer> {
  const fields = { organizationId, name: 'other', managedBy: 'cabinet', keepsResponsesHours: 1 } as const
  const { keyId, secret } = await inTestScope(pool, (client) => createKey(client, fields, pepper))
  return { organizationId, keyId, key: secret }
}

test('what is stored can be read by its key only, and is the same to others as what never was', async () => {
  const owner = await serve([{ text: 'Secret words' }])
  const response = await owner.one.responses.create({ model: owner.model, input: 'My secret' })
  const itemId = response.output[0]?.id ?? ''
  const stranger = await serve([{ text: 'x' }])
  const sibling = { model: owner.model, customer: await siblingOf(owner.customer) }
  const never = uuidV7()
  for (const { customer, model } of [stranger, sibling]) {
    await untilServed(gateways[0], customer.key, model)
    const ask = (fields: object) => call(gateways[0], customer, 'POST', '/responses', { model, ...fields })
    const both = async (make: (id: string, item: string) => Promise<Called>) => {
      const [its, none] = [await make(response.id, itemId), await make(`resp_${never}`, `msg_${never}_0`)]
      const shown = ({ status, body }: Called) => ({
        status,
        body: { error: { ...body.error, request_id: '' } },
      })
      expect(shown(its)).toEqual(shown(none))
      return its
    }
    expect((await both((id) => call(gateways[0], customer, 'GET', `/responses/${id}`))).status).toBe(404)
    expect((await both((id) => call(gateways[0], customer, 'DELETE', `/responses/${id}`))).status).toBe(404)
    expect((await both((id) => ask({ input: 'x', previous_response_id: id }))).status).toBe(400)
    expect((await both((_, id) => ask({ input: [{ type: 'item_reference', id }] }))).status).toBe(400)
  }
  expect((await owner.other.responses.retrieve(response.id)).output_text).toBe('Secret words')
})

test('Postgres has no content in clear, and a row moved to another key cannot be read', async () => {
  const owner = await serve([{ text: 'Secret words' }])
  const response = await owner.one.responses.create({ model: owner.model, input: 'My secret' })
  const id = response.id.slice('resp_'.length)
  const { rows } = await pool.query<{ all: string }>(
    `select encode(input || response, 'escape') || r::text as all from stored_responses r where id = $1`,
    [id],
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]?.all).not.toMatch(/secret|words/i)
  const thief = await serve([{ text: 'x' }])
  await pool.query('update stored_responses set key_id = $2, organization_id = $3 where id = $1', [
    id,
    thief.customer.keyId,
    thief.customer.organizationId,
  ])
  expect((await call(gateways[0], thief.customer, 'GET', `/responses/${response.id}`)).status).toBe(404)
})

test('an expired response is gone at once', async () => {
  const { model, customer, one } = await serve([{ text: 'Hello' }])
  const response = await one.responses.create({ model, input: 'Hi' })
  const id = response.id.slice('resp_'.length)
  const hours = 'extract(epoch from expires_at - uuid_time(id)) / 3600'
  const { rows } = await pool.query(
    `select round(${hours})::int as hours from stored_responses where id = $1`,
    [id],
  )
  expect(rows).toEqual([{ hours: 1 }])
  await pool.query("update stored_responses set expires_at = now() - interval '1 minute' where id = $1", [id])
  expect((await call(gateways[0], customer, 'GET', `/responses/${response.id}`)).status).toBe(404)
  const body = { model, input: 'x', previous_response_id: response.id }
  expect((await call(gateways[0], customer, 'POST', '/responses', body)).status).toBe(400)
})

test('the partition of a day is dropped once that day is over, with what is in it', async () => {
  const names = async () => {
    const { rows } = await pool.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'stored_responses'::regclass",
    )
    return rows.map(({ name }) => name)
  }
  await pool.query(
    `create table stored_responses_2020_01_01 partition of stored_responses
       for values from ('2020-01-01+00') to ('2020-01-02+00')`,
  )
  await pool.query(
    `insert into stored_responses (id, expires_at, organization_id, key_id, input, response)
     values ($1, '2020-01-01 12:00+00', $1, $1, '', '')`,
    [uuidV7()],
  )
  const before = await names()
  expect(before).toContain('stored_responses_2020_01_01')
  await pool.query('select keep_response_partitions()')
  expect((await names()).toSorted()).toEqual(
    before.filter((name) => name !== 'stored_responses_2020_01_01').toSorted(),
  )
  expect(before.length, 'yesterday, today, 33 days ahead, and that one').toBe(36)
})

test('a revoked key leaves nothing that can be read', async () => {
  const { model, customer, one } = await serve([{ text: 'Hello' }])
  const response = await one.responses.create({ model, input: 'Hi' })
  await inTestScope(pool, (client) => revokeKey(client, customer.keyId))
  await vi.waitFor(
    async () =>
      expect((await call(gateways[0], customer, 'GET', `/responses/${response.id}`)).status).toBe(401),
    { timeout: 10_000, interval: 20 },
  )
})

test('more than 4 MiB is not stored, and the response shows that', async () => {
  const { model, customer, one } = await serve([{ text: 'Hello' }], { balanceNano: 10_000_000_000_000_000n })
  const before = await readMetric(gateways[0], 'stored_responses_total{result="too_large"}')
  const response = await one.responses.create({ model, input: 'x'.repeat(4 * 1024 * 1024) })
  expect(response).toMatchObject({ store: false })
  expect(await readMetric(gateways[0], 'stored_responses_total{result="too_large"}')).toBe(before + 1)
  expect((await call(gateways[0], customer, 'GET', `/responses/${response.id}`)).status).toBe(404)
  const large = await one.responses.create({ model, input: 'x'.repeat(4 * 1024 * 1024 - 16 * 1024) })
  expect(large).toMatchObject({ store: true })
  const items = await call(gateways[1], customer, 'GET', `/responses/${large.id}/input_items`)
  expect(JSON.stringify(items.body).length).toBeGreaterThan(4_000_000)
})

describe('when the cabinet', () => {
  test('is killed, only requests with a reference are 503, and the rest is served but not stored', async () => {
    const web = await stack.startWeb()
    const gateway = await stack.startGateway({ CABINET_URL: new URL(web.baseUrl).origin })
    const { model, customer } = await serve([{ text: 'Hello' }])
    await untilServed(gateway, customer.key, model)
    const ask = (fields: object) =>
      call(gateway, customer, 'POST', '/responses', { model, input: 'Hi', ...fields })
    const kept = await ask({})
    expect(kept.body.store).toBe(true)
    await web.kill()
    expect((await ask({})).body).toMatchObject({ status: 'completed', store: false })
    expect((await ask({})).body).toMatchObject({ status: 'completed', store: false })
    expect(await readMetric(gateway, 'stored_responses_total{result="unavailable"}')).toBe(2)
    for (const answer of [
      await ask({ previous_response_id: kept.body.id }),
      await call(gateway, customer, 'GET', `/responses/${kept.body.id}`),
    ]) {
      expect(answer).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
  })

  test('does not answer, the end of a response waits a second, and the next one not at all', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close().closeAllConnections())
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const gateway = await stack.startGateway({ CABINET_URL: `http://127.0.0.1:${port}` })
    const { model, customer } = await serve([{ text: 'Hello' }])
    await untilServed(gateway, customer.key, model)
    const ask = () => call(gateway, customer, 'POST', '/responses', { model, input: 'Hi' })
    expect((await ask()).body).toMatchObject({ status: 'completed', store: false })
    expect(await readMetric(gateway, 'stored_responses_total{result="late"}')).toBe(1)
    expect((await ask()).body).toMatchObject({ status: 'completed', store: false })
    expect(await readMetric(gateway, 'stored_responses_total{result="unavailable"}')).toBe(1)
  })

  test('is asked to store by anyone but a gateway, it stores nothing', async () => {
    const { customer } = await serve([{ text: 'Hello' }])
    const answer = await fetch(`${cabinetUrl}/v1/responses`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/octet-stream' },
      body: Buffer.from('\0\0\0\x02{}'),
    })
    expect(answer.status).toBe(400)
    expect((await fetch(`${cabinetUrl}/v1/responses`, { method: 'PUT', body: 'x' })).status).toBe(401)
  })
})
