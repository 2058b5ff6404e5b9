import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { putPrice, removeRoute } from '#core/catalog/catalog-store'
import { modelHoursJob } from '#core/ledger/model-hours-job'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { createModel, createProvider, type ModelFields } from '../support/catalog.ts'
import { createCustomer, entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { inTestScope } from '../support/scope.ts'
import { webOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const web = await webOfThisFile(database)
const customer = await createCustomer(pool)
const listPath = '/models/models-with-pricing'

async function newModel(fields: ModelFields = {}): Promise<string> {
  const model = `shop/m-${randomBytes(6).toString('hex')}`
  await createProvider(pool, { name: 'demo', baseUrl: 'http://127.0.0.1:1' })
  await createModel(pool, model, 'demo', fields)
  return model
}

async function listed(model: string) {
  const { body } = await web.call('GET', listPath)
  return body.data.find(({ id }: { readonly id: string }) => id === model)
}

/** The list may be a second old. */
const untilListed = (model: string) =>
  vi.waitFor(async () => {
    const found = await listed(model)
    expect(found).toBeDefined()
    return found
  }, 5_000)

test('a model is listed with its price in force, in rubles per 1M tokens', async () => {
  const model = await newModel({
    displayName: 'Model M',
    description: 'For tests',
    contextLength: 128_000,
    inputNano: 15_500n,
    outputNano: 60_001n,
  })
  expect(await untilListed(model)).toEqual({
    id: model,
    name: 'Model M',
    provider: 'shop',
    type: 'chat',
    description: 'For tests',
    context_length: 128_000,
    max_output_tokens: 16_384,
    input_modalities: ['text'],
    capabilities: null,
    countries: null,
    free: false,
    pricing: {
      input: '15.5',
      cached_input: null,
      cache_write: null,
      output: '60.001',
      reasoning: null,
      per_request: '0',
    },
    next_pricing: null,
    next_pricing_from: null,
  })
})

test('the next scheduled price is listed with its time, and is not in force', async () => {
  const model = await newModel({ inputNano: 1_000n })
  const price = { input: 2_000n, output: 3_000n }
  for (const inDays of [9, 2])
    await pool.query(
      `insert into model_prices (id, model, valid_from, input, output, per_request, scheduled)
       values ($1, $2, now() + make_interval(days => $3), $4, $5, 0, true)`,
      [randomUUID(), model, inDays, price.input * BigInt(inDays), price.output],
    )
  const found = await untilListed(model)
  expect(found.pricing.input).toBe('1')
  expect(found.next_pricing.input).toBe('4')
  expect(Date.parse(found.next_pricing_from) - Date.now()).toBeCloseTo(2 * 86_400_000, -5)
})

test('a model states its capabilities and the countries of all providers that may serve it: none if one is unknown', async () => {
  for (const [name, country] of [
    ['de', 'DE'],
    ['ru', 'RU'],
    ['nowhere', undefined],
  ] as const)
    await createProvider(pool, { name, baseUrl: 'http://127.0.0.1:1', ...(country && { country }) })
  const at = (...providers: readonly string[]) =>
    providers.map((provider) => ({ name: provider, provider, model: 'm', priority: 0, weight: 1 }))
  const known = await newModel({ backends: at('ru', 'de'), capabilities: ['tools', 'of-later'] })
  const half = await newModel({ backends: at('ru', 'nowhere'), capabilities: [] })
  const falling = await newModel({ backends: at('ru'), fallbacks: [known, 'shop/never'] })
  const fallingAnywhere = await newModel({ backends: at('ru'), fallbacks: [known, half] })
  expect(await untilListed(half)).toMatchObject({ capabilities: [], countries: null })
  expect(await untilListed(known)).toMatchObject({
    capabilities: ['tools', 'of-later'],
    countries: ['DE', 'RU'],
  })
  expect(await untilListed(falling)).toMatchObject({ countries: ['DE', 'RU'] })
  expect(await untilListed(fallingAnywhere)).toMatchObject({ countries: null })
})

test('a model that is not open to all, or has no price, is not listed; a free one is', async () => {
  const closed = await newModel({ organizations: [randomUUID()] })
  const unpriced = `shop/m-${randomBytes(6).toString('hex')}`
  await createModel(pool, unpriced, 'demo', { pricing: 'free' })
  await pool.query('update model_routes set free = false where model = $1', [unpriced])
  const free = await newModel({ pricing: 'free' })
  expect(await untilListed(free)).toMatchObject({ free: true, pricing: { input: '0', output: '0' } })
  expect([await listed(closed), await listed(unpriced)]).toEqual([undefined, undefined])
})

test('an unchanged list is not sent again', async () => {
  const first = await web.call('GET', listPath)
  expect(first.headers.get('cache-control')).toBe('public, max-age=60')
  const etag = first.headers.get('etag') ?? ''
  const again = await web.call('GET', listPath, { headers: { 'if-none-match': etag } })
  expect([again.status, again.body]).toEqual([304, ''])
})

test('an estimate costs what the same tokens are billed', async () => {
  const model = await newModel({ inputNano: 15_501n, outputNano: 60_003n })
  await inTestScope(pool, (client) =>
    putPrice(client, model, {
      input: nanoRub(15_501n),
      cachedInput: nanoRub(7n),
      cacheWrite: null,
      output: nanoRub(60_003n),
      reasoning: nanoRub(90_000n),
      perRequest: nanoRub(1n),
    }),
  )
  await untilListed(model)
  const tokens = {
    input_tokens: 1_000,
    cached_input_tokens: 10,
    cache_write_tokens: 2,
    output_tokens: 3,
    reasoning_tokens: 4,
  }
  const { status, body } = await web.call('POST', '/pricing/estimate', { body: { model, ...tokens } })
  const nano = 1_000n * 15_501n + 10n * 7n + 2n * 15_501n + 3n * 60_003n + 4n * 90_000n + 1n
  expect([status, body.cost_rub]).toEqual([200, `0.0${nano}`])
})

test.each([
  ['a model that is not there', { model: 'shop/none', input_tokens: 1 }, 404],
  ['a negative count', { model: 'shop/none', input_tokens: -1 }, 422],
  ['half a token', { model: 'shop/none', input_tokens: 0.5 }, 422],
  ['a number beyond all', '{"model":"shop/none","input_tokens":1e400}', 422],
  ['a field that is unknown', { model: 'shop/none', input_tokens: 1, tokens: 2 }, 422],
  ['no JSON', '{"model":', 400],
  ['64 KiB and a byte', `{"model":"${'x'.repeat(64 * 1024)}"}`, 413],
])('an estimate of %s is refused', async (_, body, status) => {
  expect((await web.call('POST', '/pricing/estimate', { body })).status).toBe(status)
})

const detailsOf = async (model: string) => {
  await untilListed(model)
  return (await web.call('GET', `/models/model-details?model=${encodeURIComponent(model)}`)).body
}

/** Requests of this model in the last 50 minutes, one in half a minute or two; or all of them at once. */
async function postRequests(model: string, count: number, record: object, when?: 'at_once'): Promise<void> {
  const nowMs = Date.now()
  const entries = Array.from({ length: count }, (_, place) =>
    entryOf(customer, 0n, {
      requestId: uuidV7(nowMs - (when === 'at_once' ? 0 : (place % 95) * 31_000)),
      record: recordOf({ modelAsked: model, modelRan: model, ...record }),
    }),
  )
  await postBatch(pool, entries)
}

/** The measurements of a model in the last hours. */
async function measuredOf(model: string) {
  await pool.query("select measure_models(now() - interval '1 hour', '30 seconds', 300)")
  const { rows } = await pool.query<{ requests: number; failed: number }>(
    'select sum(requests)::int as requests, sum(failed)::int as failed from model_hours where model = $1',
    [model],
  )
  return rows[0]
}

test('the details of a model are its past and scheduled prices, without canceled ones', async () => {
  const model = await newModel({ inputNano: 1_000n, outputNano: 2_000n })
  await inTestScope(pool, (client) =>
    putPrice(client, model, {
      input: nanoRub(3_000n),
      cachedInput: null,
      cacheWrite: null,
      output: nanoRub(4_000n),
      reasoning: null,
      perRequest: nanoRub(0n),
    }),
  )
  for (const canceled of [null, 'now()'])
    await pool.query(
      `insert into model_prices (id, model, valid_from, input, output, per_request, scheduled)
       values ($1, $2, now() + make_interval(days => $3), 5000, 6000, 0, true)`,
      [randomUUID(), model, canceled === null ? 1 : 2],
    )
  await pool.query(
    "update model_prices set canceled_at = now() where model = $1 and valid_from > now() + interval '36 hours'",
    [model],
  )
  const { details } = await detailsOf(model)
  expect(details.prices).toMatchObject([
    { state: 'scheduled', pricing: { input: '5' } },
    { state: 'in_force', pricing: { input: '3' } },
    { state: 'past', pricing: { input: '1' } },
  ])
  expect(await listed(model)).toMatchObject({ pricing: details.prices[1].pricing })
})

test('prices of the time before a model was open to all stay private, as do all scheduled ones but the next', async () => {
  const model = await newModel({ inputNano: 1_000n, organizations: [randomUUID()] })
  const own = {
    cachedInput: null,
    cacheWrite: null,
    output: nanoRub(9n),
    reasoning: null,
    perRequest: nanoRub(0n),
  }
  const put = (input: bigint) =>
    inTestScope(pool, (client) => putPrice(client, model, { ...own, input: nanoRub(input) }))
  await put(2_000n)
  await createModel(pool, model, 'demo', { inputNano: 3_000n }) // open to all from now on
  await put(4_000n)
  for (const days of [1, 2])
    await pool.query(
      `insert into model_prices (id, model, valid_from, input, output, per_request, scheduled)
       values ($1, $2, now() + make_interval(days => $3), 5000 * $3, 6000, 0, true)`,
      [randomUUID(), model, days],
    )
  for (let canceled = 0; canceled < 45; canceled += 1)
    await pool.query(
      `insert into model_prices (id, model, valid_from, input, output, per_request, scheduled)
       values ($1, $2, now() + make_interval(days => $3), 7000, 7000, 0, true)`,
      [randomUUID(), model, 3 + canceled],
    )
  await pool.query(
    "update model_prices set canceled_at = now() where model = $1 and valid_from > now() + interval '60 hours'",
    [model],
  )
  const { details } = await detailsOf(model)
  expect(details.prices).toMatchObject([
    { state: 'scheduled', pricing: { input: '5' } },
    { state: 'in_force', pricing: { input: '4' } },
    { state: 'past', pricing: { input: '3' } },
  ])
  expect(details.prices).toHaveLength(3)
})

test('a model is measured from its requests: times, and failures that are not the fault of a request', async () => {
  const model = await newModel({ displayName: 'Имя / с косой чертой' })
  expect(await detailsOf(model)).toMatchObject({
    details: {
      status: 'no_data',
      last_week: { failed_share: null, first_token_ms: null, duration_ms: null },
    },
  })
  const measured = await newModel()
  await postRequests(measured, 108, { stream: true, firstContentMs: 200, totalMs: 2_000 })
  await postRequests(measured, 12, { outcome: 'failed', status: 502, totalMs: 60_000 })
  await postRequests(measured, 30, { outcome: 'refused_upstream', status: 400 })
  await runJob(modelHoursJob(pool))
  await runJob(modelHoursJob(pool)) // and again, which counts nothing twice
  const { details } = await detailsOf(measured)
  const { first_token_ms, duration_ms, failed_share } = details.last_week
  expect([details.status, failed_share]).toEqual(['degraded', 0.1])
  for (const [{ p50, p95 }, exact] of [
    [first_token_ms, 200],
    [duration_ms, 2_000],
  ] as const)
    for (const ms of [p50, p95]) expect(Math.abs(ms / exact - 1)).toBeLessThan(0.27)
})

const outOfTime = { outcome: 'failed', status: 504, errorCode: 'upstream_timeout', modelRan: null } as const
const attemptOf = (model: string, result: string, ms: number) => ({
  attempts: [{ model, provider: 'demo', backend: 'main', result, ms }],
})

test('a caller who allows too little time does not make a model fail; a provider that uses up its time does', async () => {
  const model = await newModel()
  await postRequests(model, 5, {})
  await postRequests(model, 1, { ...outOfTime, attempts: [], totalMs: 1 })
  await postRequests(model, 1, { ...outOfTime, ...attemptOf(model, 'answered', 400), totalMs: 400 })
  await postRequests(model, 1, { ...outOfTime, ...attemptOf(model, 'first_byte_timeout', 40), totalMs: 80 })
  await postRequests(model, 1, { ...outOfTime, ...attemptOf(model, 'connect_timeout', 40), totalMs: 80 })
  const cut = { ...outOfTime, outcome: 'upstream_cut', status: 200, modelRan: model }
  await postRequests(model, 1, { ...cut, ...attemptOf(model, 'deadline', 30_000), totalMs: 30_000 })
  expect(await measuredOf(model)).toEqual({ requests: 5, failed: 0 })
  await postRequests(model, 1, {
    ...outOfTime,
    ...attemptOf(model, 'first_byte_timeout', 5_000),
    totalMs: 5_001,
  })
  await postRequests(model, 1, { ...outOfTime, ...attemptOf(model, 'deadline', 29_990), totalMs: 29_995 })
  await postRequests(model, 1, { ...cut, ...attemptOf(model, 'idle_timeout', 7_000), totalMs: 7_000 })
  await postRequests(model, 1, { outcome: 'failed', status: 502, errorCode: 'upstream_error', attempts: [] })
  expect(await measuredOf(model)).toEqual({ requests: 9, failed: 4 })
})

test('of one organization, a few requests at a time are measured', async () => {
  const model = await newModel()
  const failed = { outcome: 'failed', status: 502, errorCode: 'upstream_error' } as const
  await postRequests(model, 40, failed, 'at_once')
  expect(await measuredOf(model)).toEqual({ requests: 15, failed: 15 })
})

test('a model that was removed names its first fallback that is listed; one for chosen organizations is not known', async () => {
  const successor = await newModel()
  const [gone, secret] = [
    await newModel({ fallbacks: ['shop/never', successor] }),
    await newModel({ organizations: [randomUUID()] }),
  ]
  await untilListed(successor)
  await untilListed(gone)
  await inTestScope(pool, async (client) => {
    await removeRoute(client, gone)
    await removeRoute(client, secret)
  })
  const path = (model: string) => `/models/model-details?model=${encodeURIComponent(model)}`
  await vi.waitFor(
    async () =>
      expect((await web.call('GET', path(gone))).body).toEqual({
        model: gone,
        removed: true,
        successor,
        details: null,
      }),
    15_000,
  )
  expect((await web.call('GET', path(secret))).status).toBe(404)
  expect((await web.call('GET', path(`shop/${'имя/'.repeat(60)}`))).status).toBe(404)
})
