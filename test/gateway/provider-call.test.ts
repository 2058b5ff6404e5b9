import { createServer, type Server } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createAddressGuard } from '#core/catalog/address-guard'
import { createProviderAgents } from '#gateway/upstream/provider-agents'
import { createProviderCalls, type ProviderCallHandler } from '#gateway/upstream/provider-call'
import {
  goodStream,
  plain,
  refusal,
  type Script,
  startUpstream,
  streamed,
  streamHeaders,
  type Upstream,
} from '../support/upstream.ts'

const calls = createProviderCalls(createProviderAgents(createAddressGuard(['127.0.0.0/8'])))
const access = { plainHttp: true, privateAddresses: true, caCertificates: undefined }
let upstream: Upstream

beforeAll(async () => {
  upstream = await startUpstream()
})

afterAll(async () => {
  await calls.close()
  await upstream.stop()
})

let modelCount = 0
const newModel = () => `model-${modelCount++}`

type Heard = { status?: number; body: string; end: string }

/** Makes one call and answers how it ended: `end`, a fault, or `crash`. */
function call(
  model: string,
  limits: object = {},
  extra: Partial<ProviderCallHandler> & { url?: string } = {},
) {
  const heard: Heard = { body: '', end: '' }
  const decoder = new StringDecoder()
  const messages = [{ role: 'user', content: 'Hi' }]
  let running: ReturnType<typeof calls.call> | undefined
  const ended = new Promise<Heard>((resolve) => {
    const over = (end: string) => {
      heard.end += end
      resolve(heard)
    }
    const request = {
      access,
      url: extra.url ?? `${upstream.url}/chat/completions`,
      headers: { 'content-type': 'application/json', authorization: 'Bearer secret' },
      body: Buffer.from(JSON.stringify({ model, messages })),
      connectMs: 1000,
      firstByteMs: 5000,
      idleMs: 5000,
      answerBytesMax: 1024 * 1024,
      ...limits,
    }
    running = calls.call(request, {
      onHeaders: (status) => {
        heard.status = status
      },
      onData: (bytes) => {
        heard.body += decoder.write(bytes)
        return 'something'
      },
      onEnd: () => over('end'),
      onFault: over,
      onCrash: () => over('crash'),
      ...extra,
    })
  })
  return { ended, heard, running: () => running ?? expect.fail('not started') }
}

test('a call sends one request as it is and hears the whole answer', async () => {
  const model = newModel()
  upstream.answer(model, plain('Hello'))
  const heard = await call(model).ended
  expect(heard).toMatchObject({ status: 200, end: 'end' })
  expect(JSON.parse(heard.body).choices[0].message.content).toBe('Hello')
  const [request, ...more] = upstream.requestsFor(model)
  expect(more).toEqual([])
  expect(request).toMatchObject({ path: '/v1/chat/completions', fault: undefined })
  expect(request?.headers).toMatchObject({ authorization: 'Bearer secret', 'accept-encoding': 'identity' })
})

test('an error status is an answer, and a redirect is not followed', async () => {
  const model = newModel()
  upstream.answer(model, refusal(429, 'Slow down'), { status: 302, headers: { location: upstream.url } })
  expect(await call(model).ended).toMatchObject({
    status: 429,
    end: 'end',
    body: expect.stringContaining('Slow down'),
  })
  expect(await call(model).ended).toMatchObject({ status: 302, end: 'end' })
  expect(upstream.requestsFor(model)).toHaveLength(2)
})

describe('every way in which a provider can break has its own name', () => {
  const begun = [goodStream.role, goodStream.say('a')]
  const longer = { 'content-length': '1000' }
  test.each([
    ['no status line in time', { silentMs: 'forever' }, { firstByteMs: 50 }, 'first_byte_timeout'],
    ['headers and then nothing', { steps: [{ stall: true }] }, { firstByteMs: 50 }, 'first_byte_timeout'],
    ['silence in the middle', { steps: [...begun, { stall: true }] }, { idleMs: 50 }, 'idle_timeout'],
    ['a connection closed before the answer', { raw: '' }, {}, 'reset'],
    ['a stream cut in order', { steps: [...begun, { cut: 'fin' }] }, {}, 'cut'],
    ['a stream reset', { steps: [...begun, { cut: 'reset' }] }, {}, 'cut'],
    ['a body shorter than announced', { headers: longer, steps: [{ send: '{' }, { cut: 'fin' }] }, {}, 'cut'],
    ['something that is no HTTP', { raw: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' }, {}, 'bad_http'],
    ['headers without end', { raw: `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}` }, {}, 'bad_http'],
    ['an answer beyond the bound', plain('a'.repeat(2000)), { answerBytesMax: 1000 }, 'answer_too_large'],
    [
      'a compressed answer',
      { headers: { 'content-encoding': 'gzip' }, steps: [{ send: 'x' }] },
      {},
      'answer_encoded',
    ],
  ] as const)('%s', async (_what, script, limits, fault) => {
    const model = newModel()
    upstream.answer(model, script)
    expect((await call(model, limits).ended).end).toBe(fault)
  })

  test('no server listens', async () => {
    const gone = await startUpstream()
    await gone.stop()
    expect((await call('x', {}, { url: `${gone.url}/chat/completions` }).ended).end).toBe('connect_refused')
  })

  test('a name that does not exist', async () => {
    expect((await call('x', {}, { url: 'http://nowhere.invalid/v1' }).ended).end).toMatch(
      /dns_failed|connect_timeout/,
    )
  })

  test('TLS is asked of a server that speaks none', async () => {
    const url = `${upstream.url.replace('http:', 'https:')}/chat/completions`
    expect((await call('x', {}, { url }).ended).end).toMatch(/tls_failed|connect_failed/)
  })

  test('a server that accepts and never shakes hands', async () => {
    const silent: Server = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const url = `https://127.0.0.1:${port}/v1`
    expect((await call('x', { connectMs: 50 }, { url }).ended).end).toBe('connect_timeout')
    silent.close()
  })

  test('a header that cannot be sent is reported after the call was made', async () => {
    const made = call('x', { headers: { 'x-bad': 'a\nb' } })
    expect(made.heard.end).toBe('')
    expect((await made.ended).end).toBe('connect_failed')
  })
})

test('an answer of single bytes arrives whole', async () => {
  const model = newModel()
  upstream.answer(model, { headers: streamHeaders, steps: [{ trickle: 'data: {"é":"世"}\n\n' }] })
  expect(await call(model).ended).toMatchObject({ body: 'data: {"é":"世"}\n\n', end: 'end' })
})

test.each([
  ['first_byte_timeout', []],
  ['idle_timeout', [goodStream.say('a')]],
] as const)('reads that say nothing put no clock off: %s', async (fault, begun) => {
  const model = newModel()
  const comments = Array.from({ length: 100 }, () => [{ send: ': wait\n\n' }, { waitMs: 20 }] as const)
  upstream.answer(model, { headers: streamHeaders, steps: [...begun, ...comments.flat()] })
  const limits = { firstByteMs: 300, idleMs: 300 }
  const onData = (bytes: Buffer) => (bytes.includes('data') ? 'something' : 'silence')
  const startedAtMs = performance.now()
  expect((await call(model, limits, { onData }).ended).end).toBe(fault)
  expect(performance.now() - startedAtMs).toBeLessThan(1000)
})

test('a cancelled call closes the connection and is heard of no more', async () => {
  const model = newModel()
  upstream.answer(model, { headers: streamHeaders, steps: [goodStream.say('a'), { stall: true }] })
  const made = call(model)
  await vi.waitFor(() => expect(made.heard.body).toContain('a'))
  made.running().cancel()
  await vi.waitFor(() => expect(upstream.requestsFor(model)[0]?.state).toBe('left'))
  expect(made.heard.end).toBe('')
})

test('a call cancelled before it has a connection sends nothing that is answered', async () => {
  const model = newModel()
  const made = call(model)
  made.running().cancel()
  expect(await call(newModel()).ended).toMatchObject({ end: 'end' })
  expect(made.heard).toEqual({ body: '', end: '' })
})

test.each(['at the headers', 'in the middle'])(
  'paused %s, a call reads nothing more and its idle clock stands; then it goes on',
  async (when) => {
    const model = newModel()
    const big = 'a'.repeat(32 * 1024)
    upstream.answer(model, streamed(Array.from({ length: 600 }, () => big)))
    let pausedAtMs: number | undefined
    const pauseOnce = () => {
      if (pausedAtMs === undefined) made.running().pause()
      pausedAtMs ??= performance.now()
    }
    let bytes = 0
    const made = call(
      model,
      { idleMs: 200, answerBytesMax: 64 * 1024 * 1024 },
      {
        onHeaders: () => when === 'at the headers' && pauseOnce(),
        onData(data) {
          bytes += data.length
          // Outside the read, as a full socket of a client would do it: the next read still comes.
          setImmediate(pauseOnce)
          return 'something'
        },
      },
    )
    await vi.waitFor(() => expect(performance.now() - (pausedAtMs ?? Number.NaN)).toBeGreaterThan(400))
    expect(upstream.requestsFor(model)[0]?.state).toBe('open')
    expect(bytes).toBeLessThan(big.length * 100)
    expect(made.heard.end).toBe('')
    made.running().resume()
    expect((await made.ended).end).toBe('end')
    expect(bytes).toBeGreaterThan(big.length * 600)
  },
)

const mebibyte = 1024 * 1024
const chunkedHead = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const firehose = { answerBytesMax: 64 * mebibyte }

const large: Script = { headers: streamHeaders, steps: [{ send: Buffer.alloc(24 * mebibyte, 'a') }] }
const single: Script = { raw: `${chunkedHead}${'1\r\na\r\n'.repeat(50_000)}0\r\n\r\n` }

test.each([
  ['large ones', large, 24 * mebibyte],
  ['single bytes', single, 50_000],
])(
  'of reads that come faster than we take them, %s, each turn takes a few',
  async (_what, script, length) => {
    const model = newModel()
    upstream.answer(model, script)
    let turn = { bytes: 0, reads: 0 }
    const most = { bytes: 0, reads: 0 }
    let bytes = 0
    const onData = (data: Buffer) => {
      if (turn.reads === 0)
        setImmediate(() => {
          turn = { bytes: 0, reads: 0 }
        })
      turn.bytes += data.length
      turn.reads += 1
      bytes += data.length
      most.bytes = Math.max(most.bytes, turn.bytes)
      most.reads = Math.max(most.reads, turn.reads)
      return 'something' as const
    }
    expect((await call(model, firehose, { onData }).ended).end).toBe('end')
    expect(bytes).toBe(length)
    expect(most.bytes).toBeLessThanOrEqual(mebibyte / 2)
    expect(most.reads).toBeLessThanOrEqual(1_000)
  },
)

test('of many that do so each comes to its end, also next to those that were cancelled while they waited', async () => {
  const model = newModel()
  const body = Buffer.alloc(4 * mebibyte, 'a')
  upstream.answer(model, { headers: streamHeaders, steps: [{ send: body }] })
  const made = Array.from({ length: 16 }, (_, n) => {
    let bytes = 0
    const each = call(model, firehose, {
      onData(data) {
        bytes += data.length
        if (n % 2 === 0 && bytes > mebibyte) each.running().cancel()
        return 'something'
      },
    })
    return { ...each, bytes: () => bytes }
  })
  const whole = made.filter((_, n) => n % 2 === 1)
  const ends = await Promise.all(whole.map(({ ended }) => ended))
  expect(new Set(ends.map(({ end }) => end))).toEqual(new Set(['end']))
  expect(new Set(whole.map(({ bytes }) => bytes()))).toEqual(new Set([body.length]))
})

test('an error of the listener is not taken for one of the provider, and ends the call', async () => {
  const model = newModel()
  upstream.answer(model, streamed(['a']))
  const made = call(model, {}, { onData: () => expect.fail('our own bug') })
  expect((await made.ended).end).toBe('crash')
})

test('connections are kept and used again', async () => {
  const own = await startUpstream()
  const url = `${own.url}/chat/completions`
  for (let n = 0; n < 20; n += 1) expect((await call(newModel(), {}, { url }).ended).end).toBe('end')
  // Two: a call made while the one before is still being cleared away takes another connection.
  expect(own.connectionCount()).toBeLessThanOrEqual(2)
  await own.stop()
})
