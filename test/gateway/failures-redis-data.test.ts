import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import { openStream } from '../support/chat-stream.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { pausedAnswer, plain, refusal } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const messages = [{ role: 'user', content: 'Say hello' }]
const wholeCost = 10n * 10_000n + 5n * 30_000n
let worker: Process
let gateway: Process

beforeAll(async () => {
  worker = await stack.startWorker()
  gateway = await stack.startGateway()
})

async function served() {
  const model = await stack.createModel()
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { model, ...customer }
}

function pauseAnswers(model: string): () => void {
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  return goOn
}

async function complete(key: string, model: string): Promise<readonly [requestId: string, costNano: bigint]> {
  const { status, headers } = await post(gateway, key, { model, messages })
  expect(status).toBe(200)
  return [headers.get('x-gateway-request-id') ?? '', findRub(headers.get('x-gateway-cost-rub') ?? '') ?? 0n]
}

/** Two ways to lose everything: one that a connection notices, and one that only the epoch reveals. */
const losses = {
  'is emptied': () => view.ask((redis) => redis.flushall()),
  'comes back empty': async () => {
    await stack.redis.kill()
    await stack.redis.start()
  },
}

test.for(['is emptied', 'comes back empty'] as const)(
  'Redis %s in the middle of a stream: the hold is made again before keys work again, the charge is booked once',
  async (loss) => {
    const { model, key, organizationId } = await served()
    const goOn = pauseAnswers(model)
    const stream = await openStream(gateway, key, model)
    const before = await view.money(organizationId)
    expect(before.held).toBeGreaterThan(0n)
    await losses[loss]()
    const lost = await post(gateway, key, { model, messages })
    expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '1'])
    await untilServed(gateway, key, model)
    expect(await view.money(organizationId)).toEqual(before)

    goOn()
    expect(await stream.ended).toBe('whole')
    const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
    expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1, record: { outcome: 'completed' } })
  },
)

test('Redis loses charges that Postgres has not got: every one is sent again and posted once', async () => {
  const customers = await Promise.all(Array.from({ length: 5 }, served))
  await worker.kill()
  const charged = await Promise.all(
    customers.map(async ({ key, model, organizationId }) => ({
      organizationId,
      costs: await Promise.all(Array.from({ length: 4 }, () => complete(key, model))),
    })),
  )
  const resentBefore = await readMetric(gateway, 'charges_resent_total')
  await view.ask((redis) => redis.flushall())
  worker = await stack.startWorker()
  for (const { organizationId, costs } of charged) {
    const books = await settledBooks(stack, view, organizationId, { requests: 4 })
    for (const [id, costNano] of costs) expect(books.get(id)).toMatchObject({ costNano, chargeRows: 1 })
  }
  await Promise.all(customers.map(({ key, model }) => untilServed(gateway, key, model)))
  await vi.waitFor(async () => expect(await readMetric(gateway, 'buffered_charges')).toBe(0))
  // All 20, but for those that a busy machine had not sent before Redis was emptied.
  expect(await readMetric(gateway, 'charges_resent_total')).toBeGreaterThan(resentBefore)
})

test('Redis is emptied before and after a charge is added: it is posted as the client saw it, and its gateway can stop', async () => {
  const stopping = await stack.startGateway()
  const { model, key, organizationId } = await served()
  await untilServed(stopping, key, model)
  await worker.kill() // no new epoch opens, and nothing is posted
  const { answer, goOn } = pausedPlainAnswer()
  stack.upstream.answer(model, answer)
  const asked = post(stopping, key, { model, messages })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
  await view.ask((redis) => redis.flushall())
  goOn()
  const answered = await asked
  const told = findRub(answered.headers.get('x-gateway-cost-rub') ?? '')
  expect([answered.status, told]).toEqual([200, wholeCost])
  const bookedAtMs = performance.now()
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(bookedAtMs + patienceMs), {
    timeout: 2 * patienceMs,
  })
  await view.ask((redis) => redis.flushall())
  worker = await stack.startWorker()
  const books = await settledBooks(stack, view, organizationId)
  const id = answered.headers.get('x-gateway-request-id') ?? ''
  expect(books.get(id)).toMatchObject({ costNano: told, chargeRows: 1, record: { outcome: 'completed' } })
  await stopping.stop()
}, 60_000)

/** After so long a charge may not be posted for the first time (`charge-keeper.ts`). */
const patienceMs = 6_000

function pausedPlainAnswer() {
  let goOn: (value?: unknown) => void = () => undefined
  const until = new Promise((resolve) => {
    goOn = resolve
  })
  const { steps = [], ...rest } = plain('Hello')
  return { answer: { ...rest, steps: [{ until }, ...steps] }, goOn }
}

test('Redis loses the end of a request that cost nothing: its record is sent again, for the receipt', async () => {
  const { model, key, organizationId } = await served()
  stack.upstream.answer(model, refusal(500, 'broken'))
  await worker.kill()
  expect((await post(gateway, key, { model, messages })).status).toBe(502)
  await view.ask((redis) => redis.flushall())
  worker = await stack.startWorker()
  const [booked] = (await settledBooks(stack, view, organizationId)).values()
  expect(booked).toMatchObject({ costNano: 0n, chargeRows: 0, record: { outcome: 'failed', status: 502 } })
})

test.for([
  ['nearly', 1.1],
  ['quite', 0.9],
] as const)(
  'a Redis that is %s full: new requests are 503, running ones are booked, and room opens it again',
  async ([, share]) => {
    const { model, key, organizationId } = await served()
    const goOn = pauseAnswers(model)
    const stream = await openStream(gateway, key, model)
    const info = await view.ask((redis) => redis.info('memory'))
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    const limit = (bytes: number) => view.ask((redis) => redis.config('SET', 'maxmemory', String(bytes)))
    onTestFinished(() => void limit(0))
    await limit(Math.round(share * used))
    await vi.waitFor(async () => expect(await readMetric(gateway, 'redis_nearly_full')).toBe(1))
    const refused = await post(gateway, key, { model, messages })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])

    goOn()
    expect(await stream.ended).toBe('whole')
    const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
    expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
    await limit(0)
    await vi.waitFor(async () => expect((await post(gateway, key, { model, messages })).status).toBe(200))
  },
)

test('a Redis that throws data away once it is full, or keeps no file, is in the metrics, and once in the log', async () => {
  const lines: string[] = []
  const told = await stack.startGateway({}, (line) => void lines.push(line))
  const set = (name: string, value: string) => view.ask((redis) => redis.config('SET', name, value))
  const keepsFile = await view.ask((redis) => redis.config('GET', 'appendonly'))
  onTestFinished(async () => {
    await set('maxmemory-policy', 'noeviction')
    await set('maxmemory', '0')
    await set('appendonly', String(keepsFile[1]))
  })
  await set('maxmemory', String(2 ** 30))
  await set('maxmemory-policy', 'volatile-lru')
  await vi.waitFor(async () => expect(await readMetric(told, 'redis_may_evict')).toBe(1))
  await set('maxmemory-policy', 'noeviction')
  await vi.waitFor(async () => expect(await readMetric(told, 'redis_may_evict')).toBe(0))
  for (const [appendonly, said] of [
    ['no', 1],
    ['yes', 0],
  ] as const) {
    await set('appendonly', appendonly)
    await vi.waitFor(async () => expect(await readMetric(told, 'redis_keeps_no_file')).toBe(said))
  }
  for (const advice of ['Set its maxmemory-policy to noeviction', 'Set its appendonly to yes'])
    await vi.waitFor(() => expect(lines.filter((line) => line.includes(advice))).toHaveLength(1))
})
