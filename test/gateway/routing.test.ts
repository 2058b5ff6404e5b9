import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { ModelFields } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain, refusal, streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const { upstream } = stack
let gateway: Process
let customer: Customer

beforeAll(async () => {
  customer = await stack.createCustomer()
  await stack.startWorker()
  gateway = await stack.startGateway()
})

/** A model that the gateway serves; `places` are its backends: their models at the provider. */
async function served(
  places: Readonly<Record<string, { priority?: number; weight?: number; provider?: string }>>,
  fields: ModelFields = {},
): Promise<string> {
  const provider = await stack.createProvider()
  const backends = Object.entries(places).map(([name, place]) => ({
    name,
    provider,
    model: `${provider}-${name}`,
    priority: 0,
    weight: 1,
    ...place,
  }))
  const model = await stack.createModel({ backends, ...fields })
  await untilServed(gateway, customer.key, model)
  return model
}

/** What the provider calls a backend of a model. */
async function placeOf(model: string, name: string): Promise<string> {
  const { rows } = await stack.database.pool.query<{ document: ModelFields }>(
    'select document from model_routes where model = $1',
    [model],
  )
  return rows[0]?.document.backends?.find((backend) => backend.name === name)?.model ?? expect.fail()
}

const messages = [{ role: 'user', content: 'Hi' }]

async function ask(model: string, headers: Record<string, string> = {}, fields: object = {}) {
  const response = await post(gateway, customer.key, { model, messages, ...fields }, headers)
  const text = await response.text()
  return {
    status: response.status,
    text,
    code: response.status === 200 ? null : JSON.parse(text).error.code,
    attempts: Number(response.headers.get('x-gateway-attempts')),
    ran: response.headers.get('x-gateway-model'),
    retryAfter: response.headers.get('retry-after'),
  }
}

const countOf = (place: string) => upstream.requestsFor(place).length

describe('a backend that fails', () => {
  test('is left alone after five failures, probed by one request at a time, and used again once it answers', async () => {
    const model = await served({ sick: { priority: 0 }, spare: { priority: 1 } }, { attempts: 2 })
    const [sick, spare] = [await placeOf(model, 'sick'), await placeOf(model, 'spare')]
    upstream.answer(sick, refusal(500, 'broken'))
    for (let n = 0; n < 5; n += 1) expect(await ask(model)).toMatchObject({ status: 200, attempts: 2 })
    for (let n = 0; n < 3; n += 1) expect(await ask(model)).toMatchObject({ status: 200, attempts: 1 })
    expect(countOf(sick)).toBe(5)

    let answerProbe = () => {}
    const probed = new Promise<void>((resolve) => {
      answerProbe = resolve
    })
    const good = plain('well again')
    upstream.answer(sick, { ...good, steps: [{ until: probed }, ...(good.steps ?? [])] })
    const answers: ReturnType<typeof ask>[] = []
    await vi.waitFor(() => {
      answers.push(ask(model))
      expect(countOf(sick)).toBe(6)
    })
    const meanwhile = await Promise.all([ask(model), ask(model), ask(model)])
    expect(meanwhile.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(countOf(sick)).toBe(6)
    answerProbe()
    expect((await Promise.all(answers)).filter(({ text }) => text.includes('well again'))).toHaveLength(1)
    upstream.answer(sick, plain('well again'))
    const spared = countOf(spare)
    expect((await ask(model)).text).toContain('well again')
    expect(countOf(spare)).toBe(spared)
  })

  test('is tried all the same when nothing else is left', async () => {
    const model = await served({ only: {} })
    const only = await placeOf(model, 'only')
    upstream.answer(only, refusal(500, 'broken'))
    for (let n = 0; n < 8; n += 1) expect(await ask(model)).toMatchObject({ status: 502, attempts: 1 })
    upstream.answer(only, plain('well again'))
    expect(await ask(model)).toMatchObject({ status: 200, attempts: 1 })
  })

  test('is not made to look sick by callers in a hurry', async () => {
    const model = await served({ slow: { priority: 0 }, spare: { priority: 1 } })
    const slow = await placeOf(model, 'slow')
    upstream.answer(slow, { silentMs: 'forever' })
    const hurried = Array.from({ length: 8 }, () => ask(model, { 'x-gateway-timeout-ms': '500' }))
    for (const { status } of await Promise.all(hurried)) expect(status).toBe(504)
    upstream.answer(slow, plain('here I am'))
    expect((await ask(model)).text).toContain('here I am')
  })

  test('shows in the metrics while it rests', async () => {
    const provider = await stack.createProvider()
    const model = await served({ sick: { provider } })
    upstream.answer(await placeOf(model, 'sick'), refusal(500, 'broken'))
    for (let n = 0; n < 5; n += 1) await ask(model)
    expect(await readMetric(gateway, `backends_cooling_down{provider="${provider}"}`)).toBe(1)
    await ask(model)
    const skipped = `upstream_attempts_skipped_total{provider="${provider}",why="resting"}`
    expect(await readMetric(gateway, skipped)).toBeGreaterThan(0)
  })
})

describe('a provider that asks to be left alone', () => {
  test('is, and the client gets the smallest hint without an attempt', async () => {
    const model = await served({ a: { priority: 0 }, b: { priority: 1 } }, { attempts: 2 })
    const [a, b] = [await placeOf(model, 'a'), await placeOf(model, 'b')]
    upstream.answer(a, { ...refusal(429, 'slow down'), headers: { 'retry-after': '20' } })
    upstream.answer(b, { ...refusal(503, 'busy'), headers: { 'retry-after': '9' } })
    expect(await ask(model)).toMatchObject({
      status: 503,
      code: 'upstream_overloaded',
      attempts: 2,
      retryAfter: '9',
    })
    const told = await ask(model)
    expect(told).toMatchObject({ status: 503, code: 'upstream_overloaded', attempts: 0 })
    expect(told.text).toContain('no attempt was made')
    expect(Number(told.retryAfter)).toBeGreaterThanOrEqual(8)
    expect(Number(told.retryAfter)).toBeLessThanOrEqual(9)
    expect([countOf(a), countOf(b)]).toEqual([1, 1])
  })

  test('is passed over for a fallback at once, unless the caller wants none', async () => {
    const fallback = await served({ main: {} })
    const model = await served({ main: {} }, { fallbacks: [fallback] })
    const main = await placeOf(model, 'main')
    upstream.answer(main, { ...refusal(429, 'slow down'), headers: { 'retry-after': '20' } })
    expect(await ask(model)).toMatchObject({ status: 200, attempts: 2, ran: fallback })
    expect(await ask(model)).toMatchObject({ status: 200, attempts: 1, ran: fallback })
    expect(await ask(model, { 'x-gateway-no-fallback': 'true' })).toMatchObject({ status: 503, attempts: 0 })
    expect(countOf(main)).toBe(1)
  })

  test('is not passed over for a fallback that the key may not use', async () => {
    const fallback = await served({ main: {} })
    const model = await served({ main: {} }, { fallbacks: [fallback] })
    upstream.answer(await placeOf(model, 'main'), refusal(429, 'slow down'))
    const { key } = await stack.createCustomer({ allowedModels: [model] })
    await vi.waitFor(async () => {
      const response = await post(gateway, key, { model, messages })
      expect(await response.json()).toMatchObject({ error: { code: 'upstream_overloaded' } })
    })
    expect(countOf(await placeOf(fallback, 'main'))).toBe(0)
  })

  test('is not passed over for a fallback that is closed to the caller’s organization', async () => {
    const insider = await stack.createCustomer()
    const fallback = await stack.createModel({ organizations: [insider.organizationId] })
    await untilServed(gateway, insider.key, fallback)
    const model = await served({ main: {} }, { fallbacks: [fallback] })
    upstream.answer(await placeOf(model, 'main'), refusal(429, 'slow down'))
    expect(await ask(model)).toMatchObject({ status: 503, code: 'upstream_overloaded' })
    expect(countOf(fallback)).toBe(0)
    expect((await post(gateway, insider.key, { model, messages })).headers.get('x-gateway-model')).toBe(
      fallback,
    )
  })

  test('is asked again when its time is over', async () => {
    const model = await served({ main: {} })
    const main = await placeOf(model, 'main')
    upstream.answer(main, { ...refusal(429, 'slow down'), headers: { 'retry-after-ms': '300' } }, plain('ok'))
    expect(await ask(model)).toMatchObject({ status: 503 })
    expect(await ask(model)).toMatchObject({ status: 503, attempts: 0 })
    await vi.waitFor(async () => expect((await ask(model)).text).toContain('ok'))
    expect(countOf(main)).toBeLessThan(4)
  })
})

describe('a provider’s own limit', () => {
  test('is kept: what is above it goes elsewhere', async () => {
    const provider = await stack.createProvider({ requestsPerMinute: 20 })
    const fallback = await served({ main: {} })
    const model = await served({ main: { provider } }, { fallbacks: [fallback] })
    const main = await placeOf(model, 'main')
    const ran = []
    for (let n = 0; n < 5; n += 1) ran.push((await ask(model)).ran)
    expect(ran).toEqual([model, model, fallback, fallback, fallback])
    expect(await ask(model, { 'x-gateway-no-fallback': 'true' })).toMatchObject({
      status: 503,
      code: 'upstream_overloaded',
      attempts: 0,
    })
    expect(countOf(main)).toBe(2)
  })

  test('is shared with the other gateways that live', async () => {
    const second = await stack.startGateway()
    await untilServed(second, customer.key, await stack.createModel())
    // A heartbeat of the second, read with the next one of the first.
    await vi.waitFor(
      async () => {
        const provider = await stack.createProvider({ requestsPerMinute: 40 })
        const model = await served({ main: { provider } })
        const statuses = []
        for (let n = 0; n < 4; n += 1) statuses.push((await ask(model)).status)
        expect(statuses).toEqual([200, 200, 503, 503])
      },
      { timeout: 10_000 },
    )
    await second.stop()
  })
})

test('a provider that fails everything gets a fifth more requests and a few, not twice as many', async () => {
  const provider = await stack.createProvider()
  const model = await served({ main: { provider } }, { attempts: 3 })
  const main = await placeOf(model, 'main')
  upstream.answer(main, refusal(500, 'broken'))
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(model)))
  for (const { status } of answers) expect(status).toBe(502)
  expect(countOf(main)).toBeLessThanOrEqual(60 + 10 + 12)
})

test('of two equal backends the one that hangs gets little', async () => {
  const model = await served({ good: {}, hangs: {} })
  const [good, hangs] = [await placeOf(model, 'good'), await placeOf(model, 'hangs')]
  upstream.answer(hangs, { silentMs: 'forever' })
  const left = new AbortController()
  const calls = Array.from({ length: 40 }, async () => {
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages }),
      signal: left.signal,
    })
    return await response.text()
  })
  for (const call of calls) call.catch(() => {})
  await vi.waitFor(() => expect(countOf(good) + countOf(hangs)).toBe(40))
  // Those to come see how it is: a few in flight here, none there.
  const before = countOf(hangs)
  for (let n = 0; n < 20; n += 1) await ask(model)
  expect(countOf(hangs)).toBe(before)
  left.abort()
})

test('a backend with weight 0 is never tried: not before a later priority and not when nothing else answers', async () => {
  const model = await served({ drained: { weight: 0 }, live: { priority: 1 } }, { attempts: 2 })
  const [drained, live] = [await placeOf(model, 'drained'), await placeOf(model, 'live')]
  expect(await ask(model)).toMatchObject({ status: 200, attempts: 1 })
  upstream.answer(live, refusal(500, 'broken'))
  expect((await ask(model)).status).toBe(502)
  expect([countOf(drained), countOf(live)]).toEqual([0, 3])
})

test('silence is given half of a short deadline while another place is left, plain or streamed', async () => {
  const model = await served({ silent: { priority: 0 }, good: { priority: 1 } }, { attempts: 2 })
  const [silent, good] = [await placeOf(model, 'silent'), await placeOf(model, 'good')]
  upstream.answer(silent, { silentMs: 'forever' })
  upstream.answer(good, streamed(['Hel', 'lo']))
  const short = { 'x-gateway-timeout-ms': '1500' }
  const answer = await ask(model, short, { stream: true })
  expect(answer).toMatchObject({ status: 200, attempts: 2, text: expect.stringContaining('[DONE]') })
  upstream.answer(good, plain('Hello'))
  expect(await ask(model, short)).toMatchObject({ status: 200, attempts: 2 })
})

test('an answer that needs most of the deadline is given all of it where no other place is left, plain or streamed', async () => {
  const model = await served({ only: {} }, { attempts: 2 })
  const only = await placeOf(model, 'only')
  const most = { 'x-gateway-timeout-ms': '2000' }
  upstream.answer(only, { silentMs: 1_300, ...plain('Hello') })
  expect(await ask(model, most)).toMatchObject({ status: 200, attempts: 1 })
  upstream.answer(only, { silentMs: 1_300, ...streamed(['Hel', 'lo']) })
  expect(await ask(model, most, { stream: true })).toMatchObject({ status: 200, attempts: 1 })
})

test('a client that waited in vain gets the time that was asked for', async () => {
  const model = await served({ only: {} })
  upstream.answer(await placeOf(model, 'only'), { silentMs: 'forever' })
  const asked = [307, 311, 313, 317, 331, 333]
  const told = asked.map(async (ms) => (await ask(model, { 'x-gateway-timeout-ms': String(ms) })).text)
  for (const [n, text] of (await Promise.all(told)).entries())
    expect(text).toContain(`did not respond within ${asked[n]} ms (1 attempt)`)
})
