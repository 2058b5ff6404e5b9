import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import OpenAI from 'openai'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { uuidV7 } from '../support/customer.ts'
import { createDatabase } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain, refusal } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  const web = await stack.startWeb()
  gateway = await stack.startGateway({ CABINET_URL: new URL(web.baseUrl).origin })
})

const messages = [{ role: 'user' as const, content: 'Hi' }]

type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly body: { readonly [field: string]: unknown; readonly error: { readonly [field: string]: unknown } }
}

async function get(path: string, key: string, from = gateway): Promise<Answer> {
  const response = await fetch(`${from.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  }
}

async function served(fields: Parameters<typeof stack.createModel>[0] = {}) {
  const model = await stack.createModel(fields)
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { ...customer, model }
}

async function untilThere(id: string, key: string): Promise<Answer> {
  return vi.waitFor(async () => {
    const answer = await get(`/requests/${id}`, key)
    expect(answer.status).toBe(200)
    return answer
  })
}

describe('a receipt', () => {
  test('is served by the gateway only at the addresses of its key, whatever address a client claims', async () => {
    const model = await stack.createModel()
    const [here, elsewhere] = [
      await stack.createCustomer({ allowedIps: ['127.0.0.0/8', '::1'] }),
      await stack.createCustomer({ allowedIps: ['203.0.113.7'] }),
    ]
    await untilServed(gateway, here.key, model)
    const { headers } = await post(gateway, here.key, { model, messages })
    const id = headers.get('x-gateway-request-id') ?? ''
    expect((await untilThere(id, here.key)).body).toMatchObject({ id })
    const claims = { 'x-forwarded-for': '203.0.113.7', 'x-gateway-client-ip': '203.0.113.7' }
    for (const claimed of [{}, claims]) {
      const sent = { authorization: `Bearer ${elsewhere.key}`, ...claimed }
      const answer = await fetch(`${gateway.baseUrl}/requests/${id}`, { headers: sent })
      expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: 'ip_not_allowed' } }])
    }
  })

  test('is available in the official SDK within a second of the answer, and its cost is that of the header', async () => {
    const { key, keyId, model } = await served()
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: key, maxRetries: 0 })
    const {
      data,
      response,
      request_id: id,
    } = await client.chat.completions.create({ model, messages }).withResponse()
    const answeredAtMs = performance.now()
    await untilThere(id ?? '', key)
    expect(performance.now() - answeredAtMs).toBeLessThan(1000)
    const receipt = await client.get<Record<string, unknown>>(`/requests/${id}`)
    const page = { headers: { origin: 'https://app.example' } }
    const shown = await client.get(`/requests/${id}`, page).asResponse()
    expect(shown.headers.get('access-control-allow-origin')).toBe('*')
    expect(await client.get(`/requests/${data.id}`), 'by the id of the answer, too').toEqual(receipt)
    expect(receipt).toMatchObject({
      object: 'request',
      id,
      api_key_id: keyId,
      endpoint: 'chat',
      model_asked: model,
      model_ran: model,
      outcome: 'completed',
      status: 200,
      error_code: null,
      stream: false,
      attempts: [{ model, provider: 'scripted', backend: 'main', result: 'answered' }],
      dropped_params: [],
      tokens: { input: 10, cached_input: 0, cache_write: 0, output: 5, reasoning: 0 },
      usage_source: 'provider',
      price: { currency: 'RUB', unit: '1M tokens', input: '10', output: '30', cached_input: null },
      cost_rub: response.headers.get('x-gateway-cost-rub'),
    })
    expect(Math.abs(Date.parse(String(receipt.created_at)) - Date.now())).toBeLessThan(10_000)
  })

  test('shows which attempts failed and why, what ran instead and what was dropped', async () => {
    const parameters = { drop: ['seed'], rename: {}, defaults: {} }
    const spare = await stack.createModel({ outputNano: 60_000n, parameters })
    const { key, model } = await served({ fallbacks: [spare], parameters })
    await untilServed(gateway, key, spare)
    stack.upstream.answer(model, refusal(500, 'boom'))
    stack.upstream.answer(spare, plain('Hello'))
    const { headers } = await post(gateway, key, { model, messages, seed: 1 })
    const { body } = await untilThere(headers.get('x-gateway-request-id') ?? '', key)
    expect(body).toMatchObject({
      model_asked: model,
      model_ran: spare,
      attempts: [
        { model, result: 'status_500' },
        { model: spare, result: 'answered' },
      ],
      dropped_params: ['seed'],
      price: { output: '60' },
      cost_rub: headers.get('x-gateway-cost-rub'),
    })
  })

  test('is there for a failed request too, which cost nothing', async () => {
    const { key, model } = await served()
    stack.upstream.answer(model, refusal(500, 'boom'))
    const { status, headers } = await post(gateway, key, { model, messages })
    expect(status).toBe(502)
    const { body } = await untilThere(headers.get('x-gateway-request-id') ?? '', key)
    expect(body).toMatchObject({
      outcome: 'failed',
      status: 502,
      error_code: 'upstream_error',
      model_ran: null,
      price: null,
      cost_rub: '0',
    })
  })
})

test('what is not a settled request of this organization is 404, whatever it looks like', async () => {
  const owner = await served()
  const { headers } = await post(gateway, owner.key, { model: owner.model, messages })
  const id = headers.get('x-gateway-request-id') ?? ''
  await untilThere(id, owner.key)
  const stranger = await served()
  for (const other of [
    id,
    uuidV7(),
    crypto.randomUUID(),
    'x',
    'a/b',
    '%00',
    '..%2F..%2Flivez',
    'y'.repeat(3000),
  ]) {
    const { status, body, headers } = await get(`/requests/${other}`, stranger.key)
    expect([status, body.error.code], other).toEqual([404, 'request_not_found'])
    expect(body.error.request_id).toBe(headers.get('x-gateway-request-id'))
    expect(headers.get('x-request-id')).toBe(body.error.request_id)
  }
  expect((await get('/requests/', stranger.key)).body.error.code).toBe('unknown_url')
})

test('of a rejected request the key’s organization learns its code, and no other one learns that it was there', async () => {
  const owner = await served()
  const { headers } = await post(gateway, owner.key, { model: owner.model, messages: 7 })
  const id = headers.get('x-gateway-request-id') ?? ''
  const said = async (key: string) => (await get(`/requests/${id}`, key)).body.error
  await expect
    .poll(async () => (await said(owner.key)).message)
    .toMatch(/rejected at .* \(invalid_value, param "messages"\)/)
  expect((await said(owner.key)).code).toBe('request_not_found')
  const stranger = await served()
  const other = (await get(`/requests/${uuidV7()}`, stranger.key)).body.error
  expect(await said(stranger.key)).toMatchObject({ code: other.code, message: other.message })
})

describe('when the cabinet', () => {
  /** A gateway in front of something that is not the cabinet, or not well. */
  async function inFrontOf(listener: RequestListener | undefined): Promise<Process> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close().closeAllConnections())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    return stack.startGateway({ CABINET_URL: `http://127.0.0.1:${port}/below` })
  }

  async function askedOf(from: Process): Promise<Answer> {
    const { key } = await stack.createCustomer()
    return get(`/requests/${uuidV7()}`, key, from)
  }

  const away = { status: 503, body: { error: { code: 'service_unavailable', source: 'gateway' } } }

  test('is not configured, receipts are 503, and the message names the missing setting', async () => {
    const answer = await askedOf(await stack.startGateway())
    expect(answer).toMatchObject(away)
    expect(answer.body.error.message).toContain('CABINET_URL')
    expect(answer.headers.get('x-should-retry')).toBe('false')
  })

  test('does not answer, receipts are 503 with Retry-After, after 5 s at the latest', async () => {
    const from = await inFrontOf(() => undefined)
    const askedAtMs = performance.now()
    const answer = await askedOf(from)
    expect(answer).toMatchObject(away)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(performance.now() - askedAtMs).toBeLessThan(8_000)
  })

  test('redirects, sends too much, or is not the cabinet, nothing of that reaches the client', async () => {
    const heard: string[] = []
    const strange: readonly RequestListener[] = [
      (_, response) => response.writeHead(302, { location: '/elsewhere' }).end('{"object":"request"}'),
      (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(2 ** 21)}"`),
      (_, response) => response.writeHead(502).end('<html>bad gateway</html>'),
      (_, response) => response.writeHead(404).end('{"title":"There is nothing here"}'),
    ]
    let turn = 0
    const from = await inFrontOf((request, response) => {
      heard.push(`${request.method} ${request.url}`)
      strange[turn++]?.(request, response)
    })
    for (const _ of strange) expect(await askedOf(from)).toMatchObject(away)
    expect(heard).toHaveLength(strange.length) // no redirect was followed
    expect(heard.every((line) => line.startsWith('GET /below/v1/requests/'))).toBe(true)
  })

  test('hears of the caller its key, its address and the request id, and nothing else', async () => {
    let headers: Readonly<Record<string, unknown>> = {}
    const from = await inFrontOf((request, response) => {
      headers = request.headers
      response.writeHead(404).end('{"error":{"code":"request_not_found"}}')
    })
    const { key } = await stack.createCustomer()
    const { status, headers: answered } = await get(`/requests/${uuidV7()}`, key, from)
    expect(status).toBe(404)
    const { host: _host, connection: _connection, ...rest } = headers
    expect(rest).toEqual({
      authorization: `Bearer ${key}`,
      'x-request-id': answered.get('x-gateway-request-id'),
      'x-gateway-client-ip': expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
      'x-gateway-client-proof': expect.stringMatching(/^[\w-]{43}$/),
      accept: 'application/json',
    })
  })
})

test('while Postgres is unavailable receipts are 503, never 401, and models are still served', async () => {
  const postgres = await startEmbeddedPostgres({ durability: 'fast' })
  onTestFinished(() => postgres[Symbol.asyncDispose]())
  const own = await createDatabase({ clusterUrl: postgres.url, template: 'template1' })
  const web = await stack.startWeb({ DATABASE_URL: own.url })
  const from = await stack.startGateway({ CABINET_URL: new URL(web.baseUrl).origin })
  const { key, model } = await served()
  await untilServed(from, key, model)
  await own.pool.end()
  await postgres.stop()
  const answer = await get(`/requests/${uuidV7()}`, key, from)
  expect(answer).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } })
  expect(answer.headers.get('retry-after')).toBe('1')
  expect((await post(from, key, { model, messages })).status).toBe(200)
})
