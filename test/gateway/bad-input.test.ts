import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { chargesName } from '#core/redis/shard'
import { type Answer, loneGatewayOfThisFile, unknownKeyBeside } from '../support/lone-gateway.ts'
import { goodStream, pausedAnswer, plain, streamHeaders } from '../support/upstream.ts'

const { connection, upstream, gateway, closed, logged, createKey, send } = await loneGatewayOfThisFile({
  APP_URL: 'https://cabinet.example/',
})
const bodyBytesMax = 32 * 1024 * 1024

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Where the documentation explains a code. */
const docUrlOf = (code: string) => `https://cabinet.example/en/docs/errors#${code}`

/** Checks that an error has the one shape and the address of its explanation, and returns the fields that identify it. */
function errorOf({ status, headers, text }: Answer) {
  const { error, ...rest } = JSON.parse(text)
  expect(rest).toEqual({})
  expect(headers['content-type']).toBe('application/json')
  expect(headers['x-gateway-request-id']).toMatch(uuidV7)
  expect(headers['x-request-id']).toBe(headers['x-gateway-request-id'])
  expect(error).toMatchObject({
    request_id: headers['x-request-id'],
    message: expect.any(String),
    type: expect.any(String),
    source: expect.any(String),
    doc_url: docUrlOf(error.code),
  })
  return { status, code: error.code, param: error.param, message: error.message }
}

const valid = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })
const owner = await createKey()

describe('without a usable key', () => {
  test.each([
    ['no header', {}],
    ['no Bearer', { authorization: owner.key }],
    ['another scheme', { authorization: `Basic ${owner.key}` }],
  ])('%s is missing_api_key with a challenge', async (_name, headers) => {
    const answer = await send({ body: valid, headers: { ...headers } })
    expect(errorOf(answer)).toMatchObject({ status: 401, code: 'missing_api_key' })
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  // Before any answer is charged: a charge that waits for Postgres is asked after every 5 s, by a script.
  test('10,000 made-up keys run no script, read no body and change nothing', async () => {
    const scripts = async () =>
      (await connection.redis.info('commandstats')).match(/^cmdstat_(?:eval|fcall)\w*:calls=\d+/gm)
    const before = await scripts()
    const total = 10_000
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
    const answered = await Promise.all(Array.from({ length: 10 }, () => pipelined(head, total / 10)))
    expect(answered.reduce((sum, count) => sum + count, 0)).toBe(total)
    expect(await scripts()).toEqual(before)
  })
})

describe('a faulty request of a good key', () => {
  const nested = (depth: number) =>
    `{"model":"demo/echo","messages":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const faults: readonly [name: string, sent: Omit<Parameters<typeof send>[0], 'key'>, error: object][] = [
    ['no body', { body: '' }, { status: 400, code: 'invalid_json' }],
    ['half a body', { body: '{"model":"demo/echo",' }, { status: 400, code: 'invalid_json' }],
    ['no UTF-8', { body: Buffer.from('{"model":"\xff"}', 'latin1') }, { status: 400, code: 'invalid_json' }],
    ['a list', { body: '[]' }, { status: 400, code: 'invalid_value', param: null }],
    ['depth 201', { body: nested(201) }, { status: 400, code: 'invalid_json' }],
    ['depth 10,000', { body: nested(10_000) }, { status: 400, code: 'invalid_json' }],
    ['depth 1,000,000', { body: nested(1_000_000) }, { status: 400, code: 'invalid_json' }],
    [
      'an integer beyond 2^53',
      { body: valid.replace('{', '{"seed":9007199254740993,') },
      { status: 400, code: 'invalid_value', param: 'seed' },
    ],
    ['no model', { body: '{"messages":[]}' }, { status: 400, code: 'invalid_value', param: 'model' }],
    [
      'a wrong role',
      { body: '{"model":"demo/echo","messages":[{"role":"x","content":""}]}' },
      { status: 400, code: 'invalid_value', param: 'messages[0].role' },
    ],
    [
      'a wrong type',
      { body: valid.replace('{', '{"temperature":"hot",') },
      { status: 400, code: 'invalid_value', param: 'temperature' },
    ],
    [
      'a nonsense header',
      { body: valid, headers: { 'x-gateway-max-cost-rub': 'little' } },
      { status: 400, code: 'invalid_value', param: 'x-gateway-max-cost-rub' },
    ],
    [
      'a cap below the cost',
      { body: valid, headers: { 'x-gateway-max-cost-rub': '0.000001' } },
      { status: 402, code: 'request_exceeds_max_cost' },
    ],
    [
      'an unknown model',
      { body: valid.replace('echo', 'eho') },
      { status: 404, code: 'model_not_found', param: 'model' },
    ],
    [
      "another organization's model",
      { body: valid.replace('echo', 'closed') },
      { status: 404, code: 'model_not_found', param: 'model' },
    ],
    [
      'an embedding model',
      { body: valid.replace('echo', 'vector') },
      { status: 400, code: 'wrong_model_type', param: 'model' },
    ],
    [
      'another content type',
      { body: valid, headers: { 'content-type': 'text/plain' } },
      { status: 415, code: 'unsupported_media_type' },
    ],
    [
      'a broken content type',
      { body: valid, headers: { 'content-type': 'json' } },
      { status: 415, code: 'unsupported_media_type' },
    ],
    [
      'a compressed body',
      { body: gzipSync(valid), headers: { 'content-encoding': 'gzip' } },
      { status: 415, code: 'unsupported_media_type', message: expect.stringMatching(/"gzip".*uncompressed/) },
    ],
    ['33 MiB', { body: Buffer.alloc(33 * 1024 * 1024, 0x20) }, { status: 413, code: 'request_too_large' }],
    [
      '33 MiB of unsaid length',
      { chunks: Array.from({ length: 33 }, () => Buffer.alloc(1024 * 1024, 0x20)) },
      { status: 413, code: 'request_too_large' },
    ],
  ]
  test.each(faults)('%s: rejected as in the contract', async (_name, sent, error) => {
    expect(errorOf(await send({ ...sent, key: owner.key }))).toMatchObject(error)
  })

  test.each(faults)('%s: a wrong key reads of its key first', async (_name, sent) => {
    const refused = errorOf(await send({ ...sent, key: unknownKeyBeside(owner) }))
    expect(refused).toMatchObject({ status: 401, code: 'invalid_api_key', param: null })
  })

  test('a blocked key reads 403 and an empty balance 402 before any fault of the request', async () => {
    const blocked = await createKey({ state: 'blocked', blockedBy: 'owner' })
    const broke = await createKey({ balanceNano: 0n })
    const big = { body: Buffer.alloc(bodyBytesMax + 1, 0x20) }
    expect(errorOf(await send({ ...big, key: blocked.key }))).toMatchObject({
      status: 403,
      code: 'api_key_blocked',
    })
    expect(errorOf(await send({ body: '{', key: broke.key }))).toMatchObject({
      status: 402,
      code: 'insufficient_balance',
    })
  })

  test.each<[string, Omit<Parameters<typeof send>[0], 'key'>]>([
    ['of the wrong kind', { body: valid.replace('echo', 'vector') }],
    ['that does not exist', { body: valid.replace('echo', 'eho') }],
    ['of another organization', { body: valid.replace('echo', 'closed') }],
    ['next to a faulty field', { body: '{"messages":[],"model":"demo/vector"}' }],
    [
      'next to a nonsense header',
      { body: valid.replace('echo', 'vector'), headers: { 'x-gateway-timeout-ms': 'x' } },
    ],
  ])('a model outside the list of its key is 403 first: one %s', async (_name, sent) => {
    const { key } = await createKey({ allowedModels: ['demo/echo'] })
    expect(errorOf(await send({ ...sent, key }))).toMatchObject({
      status: 403,
      code: 'model_not_allowed',
      param: 'model',
    })
  })

  test('a rejection shows a key its limits, whatever was rejected and by which check; not one that is no longer valid', async () => {
    const [rpm, tpm] = [7, 1_000]
    for (const [changes, statuses] of [
      [{ state: 'blocked', blockedBy: 'owner' }, [403, 403]],
      [{ balanceNano: 0n }, [402, 402]],
      [{ allowedModels: [] }, [403, 400]],
      [{ dailyBudgetNano: 0n }, [429, 400]],
      [{ expiresAtMs: 1 }, [401, 401]],
    ] as const) {
      const { key } = await createKey({ rpm, tpm, ...changes })
      const answers = [await send({ body: valid, key }), await send({ body: '{', key })]
      expect(answers.map(({ status }) => status)).toEqual(statuses)
      for (const { status, headers } of answers) {
        const shown = [headers['x-ratelimit-remaining-rpm'], headers['x-ratelimit-limit-tokens']]
        const remaining = status === 400 ? '6' : '7' // it was read, so it counts
        expect(shown).toEqual(status === 401 ? [undefined, undefined] : [remaining, '1000'])
      }
    }
  })

  test('nothing of it was charged, and no provider was called', async () => {
    expect(await connection.redis.exists(chargesName(owner.shard))).toBe(0)
    expect(upstream.requestsFor('demo/closed')).toEqual([])
    expect(upstream.requestsFor('demo/vector')).toEqual([])
  })
})

test('a body of exactly 32 MiB is read', async () => {
  const { status } = await send({ body: valid.padEnd(bodyBytesMax), key: owner.key })
  expect(status).toBe(200)
})

test('the time that a body takes to come is neither the request’s deadline nor the gateway’s overhead', async () => {
  const [timeoutMs, uploadMs] = [600, 700]
  const headers = { 'x-gateway-timeout-ms': String(timeoutMs) }
  const chunks = [Buffer.from(valid.slice(0, 5)), Buffer.from(valid.slice(5))]
  const answer = await send({ chunks, pauseMs: uploadMs, headers, key: owner.key })
  expect(answer.status).toBe(200)
  expect(Number(answer.headers['x-gateway-overhead-ms'])).toBeLessThan(timeoutMs)
})

test('a body with a byte order mark, or with an encoding of identity, is read', async () => {
  const headers = { 'content-encoding': 'identity' }
  expect(await send({ body: `\ufeff${valid}`, headers, key: owner.key })).toMatchObject({ status: 200 })
})

test('a model open to one organization is served to it', async () => {
  expect(await send({ body: valid.replace('echo', 'closed'), key: closed.key })).toMatchObject({
    status: 200,
  })
})

test('lone surrogates, __proto__, equal names and unknown fields reach the provider as they came', async () => {
  const body =
    '{"model":"demo/vector","model":"demo/echo","messages":[{"role":"user","content":"\\ud800"}],' +
    '"__proto__":{"polluted":true},"constructor":{"prototype":1},"top_k":5,"stop":null}'
  await send({ body, key: owner.key }) // the provider of these tests rejects such fields, as OpenAI does
  const sent = upstream.requestsFor('demo/echo').at(-1)?.bodyText
  expect(sent).toContain('"content":"\\ud800"')
  expect(sent).toContain('"__proto__":{"polluted":true},"constructor":{"prototype":1},"top_k":5')
  expect(sent).not.toContain('"stop"')
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

test('a tool whose schema has the bounds of an int64 is served, and reaches the provider as it came', async () => {
  const schema = '{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}'
  const tools = `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`
  const body = valid.replace('{', `{"tools":${tools},`)
  expect(await send({ body, key: owner.key })).toMatchObject({ status: 200 })
  expect(upstream.requestsFor('demo/echo').at(-1)?.bodyText).toContain(`"tools":${tools}`)
})

/** Sends one request many times over one connection; answers how many came back 401. */
function pipelined(request: string, count: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(gateway.port, '127.0.0.1')
    let answered = 0
    let rest = ''
    socket.on('error', reject)
    socket.on('data', (data) => {
      const parts = (rest + data.toString('latin1')).split('HTTP/1.1 401')
      answered += parts.length - 1
      rest = parts.at(-1)?.slice(-12) ?? ''
      if (answered < count) return
      socket.destroy()
      resolve(answered)
    })
    socket.write(request.repeat(count))
  })
}

describe('an address that does not exist', () => {
  test.each([
    ['/chat/completions', /must end with \/v1/],
    ['/embeddings', /must end with \/v1/],
    ['/models', /must end with \/v1/],
    ['/v1/chat/completions/chat/completions', /the client adds \/chat\/completions itself/],
    ['/v1/v1/chat/completions', /must contain \/v1 only once/],
    ['/v1/chat/completions/chatcmpl-1', /not stored\. GET \/v1\/requests\/chatcmpl-…/],
    ['/v1/chat/completions/chatcmpl-1/messages', /not stored/],
    ['/responses', /must end with \/v1/],
    ['/v1/responses/resp_1/cancel', /POST \/v1\/responses creates a response/],
    ['/v1/responses/compact', /POST \/v1\/responses creates a response/],
    ['/v1/completions', /legacy Completions API is not supported\. Use \/v1\/chat\/completions/],
    ['/completions', /Use \/v1\/chat\/completions/],
    ['/v1//chat/completions', /two slashes .* base URL must end with \/v1, without a trailing slash/],
    ['//v1/chat/completions', /two slashes/],
    ['/v1/chat/completions/', /Remove the trailing slash/],
    ['/v1/nothing?secret=hunter2', /Unknown request URL: POST "\/v1\/nothing"/],
    ['/v1/%zz', /Unknown request URL/],
    ['/', /Unknown request URL/],
  ])('%s is 404 and says what was probably meant', async (path, message) => {
    const refused = errorOf(await send({ path, body: valid }))
    expect(refused).toMatchObject({
      status: 404,
      code: 'unknown_url',
      message: expect.stringMatching(message),
    })
    expect(refused.message).not.toContain('hunter2')
  })

  test.each(['/livez', '/readyz', '/metrics', '/v1/metrics'])(
    '%s is one of them: health and numbers are on a port of their own',
    async (path) => {
      for (const key of ['', owner.key])
        expect(errorOf(await send({ method: 'GET', path, body: '', key }))).toMatchObject({
          status: 404,
          code: 'unknown_url',
        })
    },
  )

  test('another method is 405 and names the allowed one', async () => {
    const others = METHODS.filter((method) => !['POST', 'HEAD', 'CONNECT'].includes(method))
    expect(others).toEqual(expect.arrayContaining(['LOCK', 'PURGE', 'TRACE', 'QUERY', 'PROPFIND']))
    for (const method of others) {
      const answer = await send({ method })
      expect(errorOf(answer), method).toMatchObject({ status: 405, code: 'method_not_allowed' })
      expect(answer.headers.allow).toBe('POST')
    }
  })
})

describe('what is hardly HTTP', () => {
  /** Everything that comes back on one connection. */
  function converse(text: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const socket = connect(gateway.port, '127.0.0.1', () => socket.write(text))
      let received = ''
      socket.on('error', reject)
      socket.on('data', (data) => {
        received += data.toString()
        const [head = '', body] = received.split('\r\n\r\n')
        if (body === undefined || !body.endsWith('}')) return
        socket.destroy()
        const [first = '', ...lines] = head.split('\r\n')
        const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2)))
        resolve({ status: Number(first.split(' ')[1]), headers, text: body })
      })
    })
  }

  /** All that one connection receives until it ends; `then` is sent once the response to `text` has begun. */
  async function everything(text: string, then: string): Promise<string> {
    const socket = connect(gateway.port, '127.0.0.1', () => socket.write(text))
    let received = ''
    for await (const data of socket) {
      if (received === '') socket.write(then)
      received += data
    }
    return received
  }

  function chatRequest(body: string): string {
    const headers = `host: x\r\nauthorization: Bearer ${owner.key}\r\ncontent-type: application/json`
    return `POST /v1/chat/completions HTTP/1.1\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'malformed_request'],
    ['a space in a header name', 'GET / HTTP/1.1\r\nho st: x\r\n\r\n', 400, 'malformed_request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['two hosts', 'GET /v1/key HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n', 400, 'malformed_request'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    [
      '32 KiB of headers',
      `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(32_768)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['a method that HTTP does not have', 'FROB / HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'malformed_request'],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n', 404, 'unknown_url'],
  ])('%s gets the one shape', async (_name, text, status, code) => {
    expect(errorOf(await converse(text))).toMatchObject({ status, code })
  })

  test('is not answered in the middle of an answer: its connection ends', async () => {
    const { answer, goOn } = pausedAnswer()
    onTestFinished(goOn)
    upstream.answer('demo/echo', answer)
    const received = await everything(chatRequest(valid.replace('{', '{"stream":true,')), 'hello\r\n\r\n')
    expect(received.split('HTTP/1.1 ').map((part) => part.slice(0, 3))).toEqual(['', '200'])
  })

  test('gets the one shape on a connection that has answered before, too', async () => {
    const received = await everything(
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
      `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(32_768)}\r\n\r\n`,
    )
    expect(received.split('HTTP/1.1 ').map((part) => part.slice(0, 3))).toEqual(['', '404', '431'])
  })

  test('is not answered in the middle of an answer that another one waits for', async () => {
    const { answer, goOn } = pausedAnswer()
    onTestFinished(goOn)
    upstream.answer('demo/echo', answer)
    const received = await everything(
      chatRequest(valid.replace('{', '{"stream":true,')),
      `${chatRequest(valid)}hello\r\n\r\n`,
    )
    expect(received.split('HTTP/1.1 ').map((part) => part.slice(0, 3))).toEqual(['', '200'])
  })

  test('a page of another origin reads it, too', async () => {
    const { headers } = await converse(
      `GET / HTTP/1.1\r\norigin: http://x\r\na: ${'x'.repeat(32_768)}\r\n\r\n`,
    )
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*' })
  })
})

test('what needs no key that exists is not logged at info, everything else is, once', async () => {
  const made = unknownKeyBeside(owner)
  const idOf = async (sent: Parameters<typeof send>[0], status: number) => {
    const answer = await send(sent)
    expect(answer.status).toBe(status)
    return answer.headers['x-request-id']
  }
  const silent = new Set<unknown>()
  for (const [sent, status] of [
    [{ path: '/nothing' }, 404],
    [{ path: '/nothing', key: made }, 404],
    [{ method: 'GET', key: made }, 405],
    [{ body: valid }, 401],
    [{ body: valid, key: made }, 401],
    [{ body: '{', key: made }, 401],
    [{ path: '/v1/requests/x', method: 'GET', key: made }, 503],
  ] as const)
    silent.add(await idOf(sent, status))
  const told: unknown[] = []
  for (const [body, status] of [
    [valid, 200],
    ['{', 400],
    [valid.replace('echo', 'eho'), 404],
  ] as const)
    told.push(await idOf({ body, key: owner.key }, status))
  // Lines come after answers: those of earlier tests may still do so.
  const logIds = () => logged.map((line) => 'requestId' in line && line.requestId)
  await vi.waitFor(() => expect(logIds().filter((id) => told.includes(id))).toEqual(told))
  expect(silent.size).toBe(7)
  expect(logIds().filter((id) => silent.has(id))).toEqual([])
})

test('the line of a rejected request has the key and the model, whichever check found it', async () => {
  const blocked = await createKey({ state: 'blocked', blockedBy: 'owner' })
  const long = 'x'.repeat(100_000)
  for (const [{ key, keyId, organizationId }, body, code, modelAsked] of [
    [blocked, valid, 'api_key_blocked', 'demo/echo'],
    [blocked, '{', 'api_key_blocked', null],
    [await createKey({ rpm: 0 }), valid, 'rate_limit_exceeded', 'demo/echo'],
    [await createKey({ balanceNano: 0n }), valid, 'insufficient_balance', 'demo/echo'],
    [owner, valid.replace('echo', 'eho'), 'model_not_found', 'demo/eho'],
    [owner, valid.replace('echo', 'vector'), 'wrong_model_type', 'demo/vector'],
    [owner, valid.replace('echo', 'closed'), 'model_not_found', 'demo/closed'],
    [owner, valid.replace('demo/echo', long), 'model_not_found', long.slice(0, 200)],
  ] as const) {
    logged.length = 0
    await send({ body, key })
    await vi.waitFor(() => expect(logged).toMatchObject([{ code, organizationId, keyId, modelAsked }]))
  }
  for (const path of ['/v1/key', '/v1/models/demo/eho']) {
    logged.length = 0
    await send({ method: 'GET', path, key: blocked.key })
    await vi.waitFor(() => expect(logged).toMatchObject([{ status: 403, keyId: blocked.keyId }]))
  }
})

test('an error after the first content of a stream has the address of its explanation, too', async () => {
  const { key } = await createKey()
  const steps = [goodStream.role, goodStream.say('Hi'), { cut: 'fin' }] as const
  upstream.answer('demo/echo', { headers: streamHeaders, steps })
  const { text } = await send({ body: valid.replace('{', '{"stream":true,'), key })
  upstream.answer('demo/echo', plain('Hello'))
  const { error } = JSON.parse(text.trimEnd().split('\n').at(-1)?.replace('data: ', '') ?? '')
  expect(error).toMatchObject({ code: 'upstream_error', doc_url: docUrlOf('upstream_error') })
})

test('the gateway is as alive as before', async () => {
  expect(await send({ body: valid, key: owner.key })).toMatchObject({ status: 200 })
})
