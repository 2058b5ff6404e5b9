import { connect } from 'node:net'
import OpenAI from 'openai'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type Answer,
  loneGatewayOfThisFile,
  madeUpKeyBeside,
  unknownKeyBeside,
} from '../support/lone-gateway.ts'
import { expectStream, readEvents } from '../support/response-events.ts'
import { plain, refusal, type Answer as Spoken, streamed } from '../support/upstream.ts'

const lone = await loneGatewayOfThisFile({ GATEWAY_REQUEST_TIMEOUT_MS: '1000' })
type Key = Awaited<ReturnType<typeof lone.createKey>>
let owner: Key

beforeAll(async () => {
  owner = await lone.createKey()
})

const stream = { accept: 'text/event-stream' }
const spoken: Spoken = ({ body }) => (body.stream === true ? streamed(['Hello']) : plain('Hello'))
const hello = { model: 'demo/echo', input: 'Say hello' }

type Asking = {
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly body?: object | string
}

function ask({ key = owner.key, headers = {}, body = hello }: Asking): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return lone.send({ path: '/v1/responses', key, headers, body: text })
}

type Shown = { readonly code: unknown; readonly message: string; readonly param: unknown }

/** The error of a rejection that is a stream of three events. */
function errorIn({ status, headers, text }: Answer): Shown {
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('text/event-stream; charset=utf-8')
  const events = readEvents(text)
  expect(events.map(({ type }) => type)).toEqual(['response.created', 'error', 'response.failed'])
  const { error, id } = expectStream(events) as { error: Shown; id: string }
  expect(id).toBe(`resp_${headers['x-gateway-request-id']}`)
  const { code, message, param } = events[1] as unknown as Shown
  expect(error).toEqual({ code, message })
  return { code, message, param }
}

/** The logged end of the last request. */
const lastLine = () => lone.logged.at(-1) as { status: number; code: string; path: string }

const long = 'x'.repeat(20_000)
type Rejection = readonly [
  what: string,
  asking: () => Asking | Promise<Asking>,
  status: number,
  code: string,
  shown: string,
]
const withKey =
  (changes: Parameters<typeof lone.createKey>[0], asking: Asking = {}) =>
  async () => ({
    key: (await lone.createKey(changes)).key,
    ...asking,
  })

const rejections: readonly Rejection[] = [
  ['a body that is not JSON', () => ({ body: '{' }), 400, 'invalid_json', 'invalid_prompt'],
  ['a wrong field', () => ({ body: { ...hello, stream: 'yes' } }), 400, 'invalid_value', 'invalid_prompt'],
  [
    'an unknown model',
    () => ({ body: { ...hello, model: 'demo/none' } }),
    404,
    'model_not_found',
    'invalid_prompt',
  ],
  [
    'an embedding model',
    () => ({ body: { ...hello, model: 'demo/vector' } }),
    400,
    'wrong_model_type',
    'invalid_prompt',
  ],
  [
    'a wrong option',
    () => ({ headers: { 'x-gateway-timeout-ms': '-1' } }),
    400,
    'invalid_value',
    'invalid_prompt',
  ],
  [
    'a compressed body',
    () => ({ headers: { 'content-encoding': 'zstd' } }),
    415,
    'unsupported_media_type',
    'invalid_prompt',
  ],
  [
    'another media type',
    () => ({ headers: { 'content-type': 'text/plain' } }),
    415,
    'unsupported_media_type',
    'invalid_prompt',
  ],
  [
    'a body that is announced too large',
    () => ({ headers: { 'content-length': String(2 ** 40) }, body: '' }),
    413,
    'request_too_large',
    'invalid_prompt',
  ],
  [
    'a blocked key',
    withKey({ state: 'blocked', blockedBy: 'owner' }),
    403,
    'api_key_blocked',
    'invalid_prompt',
  ],
  [
    'a blocked key, before its body is read',
    withKey({ state: 'blocked', blockedBy: 'owner' }, { body: { ...hello, input: long } }),
    403,
    'api_key_blocked',
    'invalid_prompt',
  ],
  [
    'a model that the key may not use',
    withKey({ allowedModels: ['other/*'] }),
    403,
    'model_not_allowed',
    'invalid_prompt',
  ],
  ['no money', withKey({ balanceNano: 0n }), 402, 'insufficient_balance', 'insufficient_quota'],
  [
    'no money, before its body is read',
    withKey({ balanceNano: 0n }, { body: { ...hello, input: long } }),
    402,
    'insufficient_balance',
    'insufficient_quota',
  ],
  [
    'too little money',
    withKey({ balanceNano: 100n }, { body: { ...hello, max_output_tokens: 1_000 } }),
    402,
    'request_exceeds_balance',
    'insufficient_quota',
  ],
  [
    'a cap of cost',
    () => ({ headers: { 'x-gateway-max-cost-rub': '0' }, body: { ...hello, max_output_tokens: 9 } }),
    402,
    'request_exceeds_max_cost',
    'insufficient_quota',
  ],
  ['no requests left this minute', withKey({ rpm: 0 }), 429, 'rate_limit_exceeded', 'rate_limit_exceeded'],
]

describe.each(rejections)('%s', (what, asking, status, code, shown) => {
  test('is a stream for a client that accepts nothing else, and has its own status in the log', async () => {
    const asked = await asking()
    const answer = await ask({ ...asked, headers: { ...asked.headers, ...stream } })
    const { code: told, message } = errorIn(answer)
    expect(told).toBe(shown)
    expect(/try again in \d+s/i.test(message)).toBe(shown === 'rate_limit_exceeded')
    expect(lastLine(), what).toMatchObject({ status, code, path: '/v1/responses' })
  })

  test('has its status for every other client', async () => {
    const answer = await ask(await asking())
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(JSON.parse(answer.text).error).toMatchObject({
      code,
      request_id: answer.headers['x-gateway-request-id'],
    })
    expect(lastLine()).toMatchObject({ status, code })
  })
})

test.each([
  ['no key', () => ''],
  ['a key that was never made', () => unknownKeyBeside(owner)],
  ['a made-up key', () => madeUpKeyBeside(owner)],
])('%s is 401, whatever the client accepts', async (_, keyOf) => {
  const answer = await ask({ key: keyOf(), headers: stream })
  expect(answer.status).toBe(401)
  expect(answer.headers['www-authenticate']).toBe('Bearer')
})

describe('a provider that fails', () => {
  test.each([
    [refusal(500, 'boom'), 502, 'upstream_error', 'server_is_overloaded'],
    [refusal(429, 'slow down'), 503, 'upstream_overloaded', 'server_is_overloaded'],
    [
      refusal(400, 'too long', { code: 'context_length_exceeded' }),
      400,
      'context_length_exceeded',
      'context_length_exceeded',
    ],
    [
      refusal(400, "Invalid 'temperature'.", { param: 'temperature' }),
      400,
      'invalid_value',
      'invalid_prompt',
    ],
  ])('with %j is one rejection', async (script, status, code, shown) => {
    lone.upstream.answer('demo/echo', script)
    onTestFinished(() => lone.upstream.answer('demo/echo', spoken))
    const answer = await ask({ headers: stream, body: { ...hello, stream: true } })
    expect(errorIn(answer).code).toBe(shown)
    expect(lastLine()).toMatchObject({ status, code })
    const other = await ask({ body: { ...hello, stream: true } })
    expect([other.status, JSON.parse(other.text).error.code]).toEqual([status, code])
  })
})

test('a body that stops coming is 408, in a stream for a client that accepts nothing else', async () => {
  const { port } = lone.gateway
  const head = [
    'POST /v1/responses HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${owner.key}`,
    'accept: text/event-stream',
    'content-type: application/json',
    'content-length: 100',
  ]
  const socket = connect(port, '127.0.0.1')
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  let text = ''
  for await (const bytes of socket) text += bytes
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
  const events = readEvents(text.slice(text.indexOf('\r\n\r\n') + 4))
  expect(events.map(({ type }) => type)).toEqual(['response.created', 'error', 'response.failed'])
})

test('a WebSocket is 426, which sends Codex to HTTP at once', async () => {
  const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const answer = await lone.send({ path: '/v1/responses', method: 'GET', headers })
  expect(answer.status).toBe(426)
  expect(JSON.parse(answer.text).error).toMatchObject({ code: 'upgrade_required' })
  expect((await lone.send({ path: '/v1/responses', method: 'GET' })).status).toBe(405)
})

test.each(['GET', 'DELETE'])(
  '%s of a response is 503 without a cabinet, and the message names the setting',
  async (method) => {
    const answer = await lone.send({ path: '/v1/responses/resp_1', method, key: owner.key })
    expect(answer.status).toBe(503)
    expect(answer.headers['x-should-retry']).toBe('false')
    expect(JSON.parse(answer.text).error.message).toContain('CABINET_URL')
  },
)

describe('the part of a request that has no place in a chat', () => {
  const body = {
    ...hello,
    input: [
      { role: 'user', content: 'Say hello' },
      { type: 'local_shell_call', call_id: '1' },
      { type: 'local_shell_call', call_id: '2' },
      { type: 'item_reference', id: 'rs_1' },
    ],
    tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }],
    truncation: 'auto',
    include: ['file_search_call.results'],
    invented: 1,
  }

  test.each([false, true])('is dropped and reported once, streamed: %s', async (isStream) => {
    const answer = await ask({ body: { ...body, stream: isStream } })
    expect(answer.status).toBe(200)
    expect(String(answer.headers['x-gateway-dropped-params']).split(',').toSorted()).toEqual([
      'include',
      'input.item_reference',
      'input.local_shell_call',
      'invented',
      'tools.web_search',
      'truncation',
    ])
  })

  test('is a rejection with its place for a strict client', async () => {
    const headers = { 'x-gateway-strict-params': 'true' }
    const answer = await ask({ headers, body: { ...hello, input: body.input } })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.text).error).toMatchObject({ code: 'unsupported_parameter', param: 'input[1]' })
    expect((await ask({ headers, body: hello })).status).toBe(200)
  })
})

test("OpenAI's SDK raises on a rejection, with its code", async () => {
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${lone.gateway.port}/v1`,
    apiKey: owner.key,
    maxRetries: 0,
  })
  await expect(client.responses.create({ ...hello, previous_response_id: 'resp_1' })).rejects.toMatchObject({
    status: 400,
    code: 'invalid_value',
    param: 'previous_response_id',
  })
})
