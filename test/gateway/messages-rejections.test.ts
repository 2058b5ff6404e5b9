import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { type Answer, madeUpKeyBeside, unknownKeyBeside } from '../support/lone-gateway.ts'
import {
  type Asking,
  bodyBytesMax,
  docUrlOf,
  type Rejection,
  rejectingGatewayOfThisFile,
} from '../support/rejecting-gateway.ts'
import { refusal, type Script } from '../support/upstream.ts'

const lone = await rejectingGatewayOfThisFile()
const { owner, withKey } = lone

const saying = (content: string) => ({
  model: 'demo/echo',
  max_tokens: 100,
  messages: [{ role: 'user', content }],
})
const hello = saying('Say hello')

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

const invalid = 'invalid_request_error'
/** A request of Anthropic's SDK, where it differs from one that is served. */
type Raising = Pick<Asking, 'key' | 'headers' | 'body'> & { readonly answer?: Script }

/** What Anthropic names each status. */
const types: Readonly<Record<number, string>> = {
  400: invalid,
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: invalid,
  413: 'request_too_large',
  415: invalid,
  429: 'rate_limit_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}
const listing = { method: 'GET', headers: { 'anthropic-version': '2023-06-01' } } as const

const rejections: readonly Rejection[] = [
  ...lone.rejectionsOf({ saying, faulty: { ...hello, max_tokens: 0 }, unknownModel: 'claude-none' }),
  ['too little money', withKey({ balanceNano: 100n }), 402, 'request_exceeds_balance'],
  ['a cap of cost', () => ({ headers: { 'x-gateway-max-cost-rub': '0' } }), 402, 'request_exceeds_max_cost'],
  ['no key', () => ({ key: '' }), 401, 'missing_api_key'],
  ['a key that was never made', () => ({ key: unknownKeyBeside(owner) }), 401, 'invalid_api_key'],
  ['a made-up key', () => ({ key: madeUpKeyBeside(owner) }), 401, 'invalid_api_key'],
  ['another method', () => ({ method: 'GET' }), 405, 'method_not_allowed'],
  ['a path with /v1 twice', () => ({ path: '/v1/v1/messages?beta=true' }), 404, 'unknown_url'],
  ['a batch', () => ({ path: '/v1/messages/batches' }), 404, 'unknown_url'],
  [
    'a list of models with a wrong limit',
    () => ({ ...listing, path: '/v1/models?limit=0' }),
    400,
    'invalid_value',
  ],
  ['an unknown model of the list', () => ({ ...listing, path: '/v1/models/none' }), 404, 'model_not_found'],
  [
    'a list of models without a key',
    () => ({ ...listing, path: '/v1/models', key: '' }),
    401,
    'missing_api_key',
  ],
]

test.each(rejections)("%s is rejected in Anthropic's format", async (_, asking, status, code) => {
  const answer = await ask(await asking())
  expect(errorIn(answer)).toMatchObject({ type: types[status], code })
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
  const told = {
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens.":
      'prompt is too long: 130123 tokens > 128000 maximum',
    'prompt is too long: 210000 tokens > 200000 maximum':
      'prompt is too long: 210000 tokens > 200000 maximum',
  }
  for (const [said, shown] of Object.entries(told)) {
    lone.answerInThisTest(refusal(400, said, { code: 'context_length_exceeded' }))
    const answer = await ask({ body: { ...hello, stream: true } })
    expect(answer.status).toBe(400)
    expect(errorIn(answer)).toMatchObject({ type: invalid, message: shown })
    expect(answer.headers['x-should-retry']).toBe('false')
  }
})

/** The header is the SDK's own, if there is none. */
const versions = [undefined, '2023-06-01'] as const

/** What Anthropic's SDK raises, by the code of the error. */
const raised: readonly (readonly [
  what: string,
  asking: () => Raising | Promise<Raising>,
  code: string,
  name: string,
])[] = [
  ['a wrong field', () => ({ body: { messages: [] } }), 'invalid_value', 'BadRequestError'],
  [
    'a prompt that is too long',
    () => ({ answer: refusal(400, 'too long', { code: 'context_length_exceeded' }) }),
    'context_length_exceeded',
    'BadRequestError',
  ],
  ['a wrong key', () => ({ key: 'sk-gateway-x' }), 'invalid_api_key', 'AuthenticationError'],
  ['no money', withKey({ balanceNano: 0n }), 'insufficient_balance', 'PaymentRequiredError'],
  [
    'a cap of cost',
    () => ({ headers: { 'x-gateway-max-cost-rub': '0' } }),
    'request_exceeds_max_cost',
    'PaymentRequiredError',
  ],
  [
    'a blocked key',
    withKey({ state: 'blocked', blockedBy: 'owner' }),
    'api_key_blocked',
    'PermissionDeniedError',
  ],
  [
    'another model than its own',
    withKey({ allowedModels: ['other/*'] }),
    'model_not_allowed',
    'PermissionDeniedError',
  ],
  ['an unknown model', () => ({ body: { model: 'claude-none' } }), 'model_not_found', 'NotFoundError'],
  [
    'a body that is too large',
    () => ({ body: { system: 'x'.repeat(bodyBytesMax) } }),
    'request_too_large',
    'ContentTooLargeError',
  ],
  ['no requests left this minute', withKey({ rpm: 0 }), 'rate_limit_exceeded', 'RateLimitError'],
  ['a spent daily budget', withKey({ dailyBudgetNano: 0n }), 'daily_budget_exceeded', 'RateLimitError'],
  ['a failed provider', () => ({ answer: refusal(500, 'boom') }), 'upstream_error', 'InternalServerError'],
  [
    'an overloaded provider',
    () => ({ answer: refusal(429, 'slow down') }),
    'upstream_overloaded',
    'ServiceUnavailableError',
  ],
  [
    'no time left',
    () => ({ headers: { 'x-gateway-timeout-ms': '1' } }),
    'upstream_timeout',
    'GatewayTimeoutError',
  ],
]

describe.each(versions)("Anthropic's SDK, version %s", (version) => {
  test.each(raised)('raises its class on %s', async (_, asking, code, name) => {
    const { key = owner.key, body = {}, headers = {}, answer } = await asking()
    if (answer !== undefined) lone.answerInThisTest(answer)
    const client = new Anthropic({
      baseURL: `http://127.0.0.1:${lone.gateway.port}`,
      apiKey: key,
      maxRetries: 0,
      defaultHeaders: { ...headers, ...(version === undefined ? {} : { 'anthropic-version': version }) },
    })
    for (const stream of [false, true]) {
      const asked = Object.assign({ stream }, hello, body)
      const error = await client.messages.create(asked as never).catch((thrown) => thrown)
      expect(error).toBeInstanceOf(Anthropic.APIError)
      const { status, requestID, error: told } = error
      expect(error.constructor.name).toBe(name)
      expect(told).toMatchObject({
        type: 'error',
        error: { type: types[status], code, doc_url: docUrlOf(code) },
        request_id: requestID,
      })
    }
  })
})

test.each([
  [refusal(500, 'boom'), 502, 'api_error', 'upstream_error'],
  [refusal(429, 'slow down'), 503, 'overloaded_error', 'upstream_overloaded'],
  [refusal(400, "Invalid 'stop'.", { param: 'stop' }), 400, invalid, 'invalid_value'],
])('a provider that fails with %j is one rejection', async (script, status, type, code) => {
  lone.answerInThisTest(script)
  const answer = await ask({ body: { ...hello, stream: true } })
  expect(answer.status).toBe(status)
  expect(errorIn(answer)).toMatchObject({ type, code, param: status === 400 ? 'stop_sequences' : null })
})

test('a body that stops coming is 408', async () => {
  const text = await lone.sendFirstByte('/v1/messages', [`x-api-key: ${owner.key}`])
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
