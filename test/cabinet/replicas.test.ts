import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { gatewaysNameOn } from '#core/catalog/catalog-names'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { type GatewayReport, writeReport } from '#core/catalog/gateway-report'
import { type Replica, readReplicas } from '#core/clusters/replicas'
import { type Hint, listenForHints } from '#core/db/change-hints'
import { urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool, url } = stack.database
let worker: Process

/** With no more rights than it has in an installation. */
const startWorker = () => stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', url) })

beforeAll(async () => {
  worker = await startWorker()
})

const until = (work: () => Promise<void> | void, timeout = 5_000) =>
  vi.waitFor(work, { timeout, interval: 5 })

async function findReplica(id: string): Promise<Replica | undefined> {
  return (await readReplicas(pool)).find((replica) => replica.id === id)
}

/** A gateway that reports the given values four times a second, until its test ends. */
function pretendGateway(report: GatewayReport) {
  const id = `pretended-${randomUUID()}`
  let says = report
  let beats = 0
  const beat = () =>
    view.ask((redis) => redis.hset(gatewaysNameOn(view), id, writeReport(says, ++beats))).catch(() => 0)
  let timer = setInterval(beat, 250)
  onTestFinished(async () => {
    clearInterval(timer)
    await view.ask((redis) => redis.hdel(gatewaysNameOn(view), id))
  })
  return {
    id,
    say: (next: GatewayReport) => {
      says = next
    },
    fallSilent: () => clearInterval(timer),
    speakAgain: () => {
      timer = setInterval(beat, 250)
    },
  }
}

async function hearProgrammed(): Promise<Hint[]> {
  const heard: Hint[] = []
  const hints = listenForHints({
    databaseUrl: url,
    applicationName: 'test-hints',
    listenTo: ['programmed'],
    onHint: (hint) => heard.push(hint),
  })
  onTestFinished(() => hints.stop())
  await until(() => expect(heard).toEqual([{ kind: 'everything' }]))
  heard.length = 0
  return heard
}

test('what a gateway reports is in Postgres immediately, and announced only if it changed', async () => {
  const heard = await hearProgrammed()
  const gateway = pretendGateway({ revision: 5n, unhealthy: {}, answering: [] })
  await until(async () =>
    expect(await findReplica(gateway.id)).toEqual({
      id: gateway.id,
      revision: 5n,
      unhealthy: {},
      answering: [],
    }),
  )
  await until(() => expect(heard).toEqual([{ kind: 'programmed', what: 'routes' }]))
  const next = { revision: 6n, unhealthy: { openai: 'unauthorized' }, answering: ['mistral'] } as const
  gateway.say(next)
  await until(async () => expect(await findReplica(gateway.id)).toEqual({ id: gateway.id, ...next }))
  await until(() => expect(heard).toHaveLength(2))
  const { rows } = await pool.query('select xmin::text, ctid::text from gateway_replicas where id = $1', [
    gateway.id,
  ])
  const beats = async () =>
    JSON.parse((await view.ask((redis) => redis.hget(gatewaysNameOn(view), gateway.id))) ?? '{}').atMs
  const before = await beats()
  await until(async () => expect(await beats()).toBeGreaterThan(before + 3))
  const { rows: later } = await pool.query(
    'select xmin::text, ctid::text from gateway_replicas where id = $1',
    [gateway.id],
  )
  expect(later).toEqual(rows)
  expect(heard).toHaveLength(2)
})

test('a gateway that goes silent is gone within 7 s, and back when it speaks again; a new worker does not revive it', async () => {
  const gateway = pretendGateway({ revision: 5n, unhealthy: {}, answering: [] })
  await until(async () => expect(await findReplica(gateway.id)).toBeDefined())
  const heard = await hearProgrammed()
  gateway.fallSilent()
  await until(async () => expect(await findReplica(gateway.id)).toBeUndefined(), 7_000)
  await until(() => expect(heard).toContainEqual({ kind: 'programmed', what: 'routes' }))
  await worker.kill()
  worker = await startWorker()
  const other = pretendGateway({ revision: 5n, unhealthy: {}, answering: [] })
  await until(async () => expect(await findReplica(other.id)).toBeDefined())
  expect(await findReplica(gateway.id)).toBeUndefined()
  gateway.speakAgain()
  await until(async () => expect(await findReplica(gateway.id)).toBeDefined())
})

test('gateways that live stay known through the end of a worker and the beginning of the next', async () => {
  const gateway = pretendGateway({ revision: 5n, unhealthy: {}, answering: [] })
  await until(async () => expect(await findReplica(gateway.id)).toBeDefined())
  const heard = await hearProgrammed()
  await worker.kill()
  worker = await startWorker()
  const other = pretendGateway({ revision: 6n, unhealthy: {}, answering: [] })
  await until(async () => expect(await findReplica(other.id)).toBeDefined())
  expect(await findReplica(gateway.id)).toBeDefined()
  await until(() => expect(heard).toHaveLength(1)) // the row may be read before its notice has come
})

test('a real gateway is known to serve a route well within a second of its commit, to be ill, and to have stopped', async () => {
  const id = `gateway-${randomUUID()}`
  const gateway = await stack.startGateway({ GATEWAY_INSTANCE: id })
  const customer = await stack.createCustomer()
  const times: number[] = []
  for (let round = 0; round < 20; round++) {
    const startMs = performance.now()
    await stack.createModel()
    const revision = await readCatalogRevision(pool)
    await until(async () => expect((await findReplica(id))?.revision ?? 0n).toBeGreaterThanOrEqual(revision))
    times.push(performance.now() - startMs)
  }
  const [median = 0] = times.toSorted((a, b) => a - b).slice(10)
  expect(median).toBeLessThan(500)

  const provider = await stack.createProvider()
  const model = await stack.createModel({
    backends: [{ name: 'main', provider, model: 'there', priority: 0, weight: 1 }],
  })
  stack.upstream.answer('there', { status: 401, steps: [{ send: '{}' }] })
  await untilServed(gateway, customer.key, model)
  const ask = async () =>
    (await post(gateway, customer.key, { model, messages: [{ role: 'user', content: 'x' }] })).text()
  await ask()
  await until(async () =>
    expect(await findReplica(id)).toMatchObject({
      unhealthy: { [provider]: 'unauthorized', [`${provider} there`]: 'unauthorized' },
      answering: [],
    }),
  )
  await stack.createProvider({ name: provider, headers: [{ name: 'x-account', value: 'another' }] })
  await until(async () => expect((await findReplica(id))?.unhealthy).toEqual({}))
  expect((await findReplica(id))?.answering).toEqual([])
  stack.upstream.answer('there', plain('Hello'))
  await ask()
  await until(async () => expect((await findReplica(id))?.answering).toEqual([provider]))
  await gateway.stop()
  await until(async () => expect(await findReplica(id)).toBeUndefined(), 1_000)
})
