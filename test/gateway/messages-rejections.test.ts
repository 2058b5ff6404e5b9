import { connect } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type Answer,
  loneGatewayOfThisFile,
  madeUpKeyBeside,
  unknownKeyBeside,
} from '../support/lone-gateway.ts'
import { plain, refusal, type Answer as Spoken, streamed } from '../support/upstream.ts'

const lone = await loneGatewayOfThisFile({ GATEWAY_REQUEST_TIMEOUT_MS: '1000' })
type Key = Awaited<ReturnType<typeof lone.createKey>>
let owner: Key

beforeAll(async () => {
  owner = await lone.createKey()
})

const spoken: Spoken = ({ body }) => (body.stream === true ? streamed(['Hello']) : plain('Hello'))
const hello = { model: 'demo/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello' }] }

type Asking = {
  readonly path?: string
  readonly method?: string
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly body?: object | string
}

function ask({
  path = '/v1/messages',
  method = 'POST',
  key = owner.key,
  headers = {},
  body = hello,
}: Asking) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return lone.send({ path, method, headers: { 'x-api-key': key, ...headers }, body: text })
}

/** The error of a rejection, in Anthropic's format. */
function errorIn({ headers, text }: Answer): { readonly [field: string]: unknown } {
  expect(headers['content-type']).toBe('application/json')
  const { type, error, request_id, ...others } = JSON.parse(text)
  expect([type, others]).toEqual(['error', {}])
  expect(request_id).toBe(headers['request-id'])
  expect(headers['x-gateway-request-id']).toBe(request_id)
  return error
}

const long = 'x'.repeat(20_000)
const longBody = { ...hello, messages: [{ role: 'user', content: long }] }
const withKey =
  (changes: Parameters<typeof lone.createKey>[0], asking: Asking = {}) =>
  async () => ({ key: (await lone.createKey(changes)).key, ...asking })

type Rejection = readonly [
  what: string,
  asking: () => Asking | Promise<Asking>,
  status: number,
  type: string,
  code: string,
]
const invalid = 'invalid_request_error'
const rejections: readonly Rejection[] = [
  ['a body that is not JSON', () => ({ body: '{' }), 400, invalid, 'invalid_json'],
  ['a wrong field', () => ({ body: { ...hello, max_tokens: 0 } }), 400, invalid, 'invalid_value'],
  [
    'an unknown model',
    () => ({ body: { ...hello, model: 'claude-none' } }),
    404,
    'not_found_error',
    'model_not_found',
  ],
  [
    'an embedding model',
    () => ({ body: { ...hello, model: 'demo/vector' } }),
    400,
    invalid,
    'wrong_model_type',
  ],
  ['a wrong option', () => ({ headers: { 'x-gateway-timeout-ms': '-1' } }), 400, invalid, 'invalid_value'],
  [
    'another media type',
    () => ({ headers: { 'content-type': 'text/plain' } }),
    415,
    invalid,
    'unsupported_media_type',
  ],
  [
    'a body that is announced too large',
    () => ({ headers: { 'content-length': String(2 ** 40) }, body: '' }),
    413,
    'request_too_large',
    'request_too_large',
  ],
  [
    'a blocked key',
    withKey({ state: 'blocked', blockedBy: 'owner' }),
    403,
    'permission_error',
    'api_key_blocked',
  ],
  [
    'a blocked key, before its body is read',
    withKey({ state: 'blocked', blockedBy: 'owner' }, { body: longBody }),
    403,
    'permission_error',
    'api_key_blocked',
  ],
  [
    'a model that the key may not use',
    withKey({ allowedModels: ['other/*'] }),
    403,
    'permission_error',
    'model_not_allowed',
  ],
  ['no money', withKey({ balanceNano: 0n }), 402, 'billing_error', 'insufficient_balance'],
  [
    'no money, before its body is read',
    withKey({ balanceNano: 0n }, { body: longBody }),
    402,
    'billing_error',
    'insufficient_balance',
  ],
  ['too little money', withKey({ balanceNano: 100n }), 402, 'billing_error', 'request_exceeds_balance'],
  [
    'a cap of cost',
    () => ({ headers: { 'x-gateway-max-cost-rub': '0' } }),
    402,
    'billing_error',
    'request_exceeds_max_cost',
  ],
  ['no requests left this minute', withKey({ rpm: 0 }), 429, 'rate_limit_error', 'rate_limit_exceeded'],
  ['no key', () => ({ key: '' }), 401, 'authentication_error', 'missing_api_key'],
  [
    'a key that was never made',
    () => ({ key: unknownKeyBeside(owner) }),
    401,
    'authentication_error',
    'invalid_api_key',
  ],
  ['a made-up key', () => ({ key: madeUpKeyBeside(owner) }), 401, 'authentication_error', 'invalid_api_key'],
  ['another method', () => ({ method: 'GET' }), 405, invalid, 'method_not_allowed'],
  [
    'a path with /v1 twice',
    () => ({ path: '/v1/v1/messages?beta=true' }),
    404,
    'not_found_error',
    'unknown_url',
  ],
  ['a batch', () => ({ path: '/v1/messages/batches' }), 404, 'not_found_error', 'unknown_url'],
  [
    'a list of models with a wrong limit',
    () => ({ path: '/v1/models?limit=0', method: 'GET', headers: { 'anthropic-version': '2023-06-01' } }),
    400,
    invalid,
    'invalid_value',
  ],
  [
    'an unknown model of the list',
    () => ({ path: '/v1/models/none', method: 'GET', headers: { 'anthropic-version': '2023-06-01' } }),
    404,
    'not_found_error',
    'model_not_found',
  ],
  [
    'a list of models without a key',
    () => ({ path: '/v1/models', method: 'GET', key: '', headers: { 'anthropic-version': '2023-06-01' } }),
    401,
    'authentication_error',
    'missing_api_key',
  ],
]

test.each(rejections)("%s is rejected in Anthropic's format", async (_, asking, status, type, code) => {
  const answer = await ask(await asking())
  expect(errorIn(answer)).toMatchObject({ type, code })
  expect(answer.status).toBe(status)
  const { 'retry-after': after, 'x-should-retry': again } = answer.headers
  if (code === 'rate_limit_exceeded') expect(after).toMatch(/^\d+$/)
  else expect([after, again]).toEqual([undefined, 'false'])
})

test('a faulty request of a bare name is that of a key that may use the model', async () => {
  const { key } = await lone.createKey({ allowedModels: ['anthropic/*'] })
  const answer = await ask({ key, body: { ...hello, model: 'claude-opus-5-5', max_tokens: 0 } })
  expect(errorIn(answer)).toMatchObject({ code: 'invalid_value', param: 'max_tokens' })
})

describe('a key', () => {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

  test('is taken from either header, and from both if it is the same, on every path', async () => {
    const chat = { model: 'demo/echo', messages: hello.messages }
    for (const path of ['/v1/messages', '/v1/chat/completions']) {
      const body = JSON.stringify(path.endsWith('messages') ? hello : chat)
      for (const headers of [
        { 'x-api-key': owner.key },
        bearer(owner.key),
        { 'x-api-key': owner.key, ...bearer(owner.key) },
      ])
        expect((await lone.send({ path, headers, body })).status).toBe(200)
    }
  })

  test('next to a different one is 400, which names both headers', async () => {
    const other = await lone.createKey()
    for (const headers of [bearer(other.key), { authorization: 'Basic eA==' }]) {
      const answer = await ask({ headers })
      expect([answer.status, errorIn(answer)]).toMatchObject([400, { code: 'malformed_request' }])
      expect(answer.text).toContain('x-api-key')
      expect(answer.text).not.toContain(other.key)
    }
  })

  test('reaches no log and no provider', async () => {
    await ask({})
    expect(JSON.stringify(lone.logged)).not.toContain(owner.key)
    const requests = JSON.stringify(lone.upstream.requestsFor('demo/echo'))
    expect(requests).not.toContain(owner.key)
    expect(requests).not.toContain('x-api-key')
  })
})

test('a prompt that is too long has the message that Claude Code looks for, whatever its provider writes', async () => {
  onTestFinished(() => lone.upstream.answer('demo/echo', spoken))
  const told = {
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens.":
      'prompt is too long: 130123 tokens > 128000 maximum',
    'prompt is too long: 210000 tokens > 200000 maximum':
      'prompt is too long: 210000 tokens > 200000 maximum',
  }
  for (const [said, shown] of Object.entries(told)) {
    lone.upstream.answer('demo/echo', refusal(400, said, { code: 'context_length_exceeded' }))
    const answer = await ask({ body: { ...hello, stream: true } })
    expect(answer.status).toBe(400)
    expect(errorIn(answer)).toMatchObject({ type: invalid, message: shown })
    expect(answer.headers['x-should-retry']).toBe('false')
  }
})

test.each([
  [refusal(500, 'boom'), 502, 'api_error', 'upstream_error'],
  [refusal(429, 'slow down'), 503, 'overloaded_error', 'upstream_overloaded'],
  [refusal(400, "Invalid 'stop'.", { param: 'stop' }), 400, invalid, 'invalid_value'],
])('a provider that fails with %j is one rejection', async (script, status, type, code) => {
  lone.upstream.answer('demo/echo', script)
  onTestFinished(() => lone.upstream.answer('demo/echo', spoken))
  const answer = await ask({ body: { ...hello, stream: true } })
  expect(answer.status).toBe(status)
  expect(errorIn(answer)).toMatchObject({ type, code, param: status === 400 ? 'stop_sequences' : null })
})

test('a body that stops coming is 408', async () => {
  const head = [
    'POST /v1/messages HTTP/1.1',
    'host: gateway',
    `x-api-key: ${owner.key}`,
    'content-type: application/json',
    'content-length: 100',
  ]
  const socket = connect(lone.gateway.port, '127.0.0.1')
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  let text = ''
  for await (const bytes of socket) text += bytes
  expect(text).toMatch(/^HTTP\/1\.1 408 /)
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({
    type: 'error',
    error: { type: invalid },
  })
})

describe('a count of tokens', () => {
  const path = '/v1/messages/count_tokens'
  const { max_tokens: _, ...body } = hello

  test('is an estimate, without a call of a provider', async () => {
    const before = lone.upstream.requestsFor('demo/echo').length
    const short = await ask({ path, body })
    const longer = await ask({ path: `${path}?beta=true`, body: { ...body, system: 'word '.repeat(1_000) } })
    expect([short.status, longer.status]).toEqual([200, 200])
    const [one, other] = [short, longer].map(({ text }) => JSON.parse(text).input_tokens)
    expect(one).toBeGreaterThan(0)
    expect(other - one).toBeGreaterThan(900)
    expect(other - one).toBeLessThan(2_600)
    expect(lone.upstream.requestsFor('demo/echo')).toHaveLength(before)
  })

  test.each<[string, () => Asking | Promise<Asking>, number, string]>([
    ['an unknown model', () => ({ body: { ...body, model: 'claude-none' } }), 404, 'model_not_found'],
    ['a wrong field', () => ({ body: { ...body, messages: [] } }), 400, 'invalid_value'],
    ['no key', () => ({ key: '', body }), 401, 'missing_api_key'],
    [
      'a model that the key may not use',
      withKey({ allowedModels: ['other/*'] }, { body }),
      403,
      'model_not_allowed',
    ],
    ['no money', withKey({ balanceNano: 0n }, { body }), 402, 'insufficient_balance'],
    ['more counts than the key has', withKey({ rpm: 0 }, { body }), 429, 'rate_limit_exceeded'],
  ])('with %s is rejected', async (_name, asking, status, code) => {
    const answer = await ask({ path, ...(await asking()) })
    expect([answer.status, errorIn(answer)]).toMatchObject([status, { code }])
  })
})

test('probes are 200 without a key, and nothing else is', async () => {
  for (const path of ['/', '/api/hello']) {
    const answer = await lone.send({ path, method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
  }
  expect((await lone.send({ path: '/', method: 'GET' })).status).toBe(404)
  expect((await lone.send({ path: '/v1/models', method: 'HEAD' })).status).toBe(405)
})

describe('the part of a request that has no place in a chat', () => {
  const body = {
    ...hello,
    messages: [
      {
        role: 'user',
        content: [{ type: 'hologram' }, { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }],
      },
    ],
    tools: [{ type: 'web_search_20260318', name: 'web_search' }],
    context_management: { edits: [] },
    invented: 1,
  }
  const headers = { 'anthropic-beta': 'invented-2030-01-01' }

  test.each([false, true])('is dropped and reported once, streamed: %s', async (isStream) => {
    const answer = await ask({ headers, body: { ...body, stream: isStream } })
    expect(answer.status).toBe(200)
    expect(String(answer.headers['x-gateway-dropped-params']).split(',').toSorted()).toEqual([
      'anthropic-beta',
      'context_management',
      'invented',
      'messages.hologram',
      'tools.web_search_20260318',
    ])
    expect(JSON.stringify(lone.upstream.requestsFor('demo/echo').at(-1))).not.toMatch(/hologram|invented/)
  })

  test('is a rejection with its place for a strict client', async () => {
    const answer = await ask({ headers: { 'x-gateway-strict-params': 'true' }, body })
    expect(errorIn(answer)).toMatchObject({ code: 'unsupported_parameter', param: 'tools[0]' })
  })
})
