import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { type Answer, madeUpKeyBeside, unknownKeyBeside } from '../support/lone-gateway.ts'
import {
  type Asking,
  docUrlOf,
  type Rejection,
  rejectingGatewayOfThisFile,
} from '../support/rejecting-gateway.ts'
import { expectStream, readEvents } from '../support/response-events.ts'
import { refusal } from '../support/upstream.ts'

const lone = await rejectingGatewayOfThisFile()
const { owner, withKey } = lone

const stream = { accept: 'text/event-stream' }
const saying = (input: string) => ({ model: 'demo/echo', input })
const hello = saying('Say hello')

function ask({ body = hello, ...asking }: Asking): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return lone.send({ path: '/v1/responses', key: owner.key, ...asking, body: text })
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

/** The code that Codex reads, by status; of every other status it is `invalid_prompt`. */
const codes: Readonly<Record<number, string>> = { 402: 'insufficient_quota', 429: 'rate_limit_exceeded' }

const rejections: readonly Rejection[] = [
  ...lone.rejectionsOf({ saying, faulty: { ...hello, stream: 'yes' }, unknownModel: 'demo/none' }),
  ['a compressed body', () => ({ headers: { 'content-encoding': 'zstd' } }), 415, 'unsupported_media_type'],
  [
    'too little money',
    withKey({ balanceNano: 100n }, { body: { ...hello, max_output_tokens: 1_000 } }),
    402,
    'request_exceeds_balance',
  ],
  [
    'a cap of cost',
    () => ({ headers: { 'x-gateway-max-cost-rub': '0' }, body: { ...hello, max_output_tokens: 9 } }),
    402,
    'request_exceeds_max_cost',
  ],
]

describe.each(rejections)('%s', (what, asking, status, code) => {
  test('is a stream for a client that accepts nothing else, and has its own status in the log', async () => {
    const asked = await asking()
    const answer = await ask({ ...asked, headers: { ...asked.headers, ...stream } })
    const { code: told, message } = errorIn(answer)
    const shown = codes[status] ?? 'invalid_prompt'
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
      doc_url: docUrlOf(code),
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
    lone.answerInThisTest(script)
    const answer = await ask({ headers: stream, body: { ...hello, stream: true } })
    expect(errorIn(answer).code).toBe(shown)
    expect(lastLine()).toMatchObject({ status, code })
    const other = await ask({ body: { ...hello, stream: true } })
    expect([other.status, JSON.parse(other.text).error.code]).toEqual([status, code])
  })
})

test('a body that stops coming is 408, in a stream for a client that accepts nothing else', async () => {
  const text = await lone.sendFirstByte('/v1/responses', [
    `authorization: Bearer ${owner.key}`,
    'accept: text/event-stream',
  ])
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
