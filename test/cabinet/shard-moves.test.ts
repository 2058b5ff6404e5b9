import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readOrganizationSums } from '#core/admission/organization-sums'
import { cabinetRedisUser } from '#core/admission/redis-users'
import { openRedis } from '#core/redis/open-redis'
import { epochName, type Shard, shardOf } from '#core/redis/shard'
import { slotOfShard } from '#core/redis/shard-slots'
import type { RedisServer } from '#standalone/redis'
import type { Customer } from '../support/customer.ts'
import { readMetric } from '../support/read-metric.ts'
import { redisClusterOfThisFile } from '../support/redis-cluster.ts'
import { runEntry } from '../support/run-entry.ts'
import { post, stackOfThisFile, untilOpen, untilServed } from '../support/stack.ts'
import { plain } from '../support/upstream.ts'

const cluster = await redisClusterOfThisFile()
const stack = await stackOfThisFile({ cluster })
const messages = [{ role: 'user', content: 'Say hello' }]

/** `npm run shards -- …args`. */
const shards = (...args: readonly string[]) =>
  runEntry('release/shards/main.ts', { REDIS_URL: cluster.url }, { args })

const serverOf = ({ url }: RedisServer) => new URL(url).host

async function primaryOf(shard: Shard): Promise<RedisServer> {
  const primary = await cluster.primaryOf(slotOfShard(shard))
  if (primary === undefined) throw new Error('no primary')
  return primary
}

/** A primary that does not have this shard. */
async function otherThan(shard: Shard): Promise<RedisServer> {
  const owner = await primaryOf(shard)
  for (const slot of [0, 8_000, 16_000]) {
    const primary = await cluster.primaryOf(slot)
    if (primary !== undefined && primary !== owner) return primary
  }
  throw new Error('one primary')
}

async function replicaOf(primary: RedisServer): Promise<RedisServer> {
  const id = String(await cluster.ask(primary, 'CLUSTER', 'MYID'))
  const lines = String(await cluster.ask(primary, 'CLUSTER', 'NODES')).split('\n')
  const line = lines.find((text) => text.includes(` slave ${id} `)) ?? ''
  const replica = cluster.nodes.find((node) => line.includes(` ${serverOf(node)}@`))
  if (replica === undefined) throw new Error('no replica')
  return replica
}

async function epochOf(shard: Shard) {
  const owner = await primaryOf(shard)
  const fields = await cluster.ask(owner, 'HMGET', epochName(shard), 'nonce', 'run_id')
  const [nonce, runId] = Array.isArray(fields) ? fields.map(String) : []
  return { nonce, runId }
}

/** Sends requests one after the other until it is stopped, and answers their statuses and ids. */
function keepAsking(gateway: Parameters<typeof post>[0], { key }: Customer, model: string) {
  const answers: { readonly status: number; readonly id: string; readonly ms: number }[] = []
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      const sentAtMs = performance.now()
      const response = await post(gateway, key, { model, messages })
      await response.text()
      const id = response.headers.get('x-gateway-request-id') ?? ''
      answers.push({ status: response.status, id, ms: performance.now() - sentAtMs })
      await pause(2)
    }
  })()
  return {
    answers,
    async stop() {
      isOver = true
      await ended
    },
  }
}

const worker = await stack.startWorker()
// A busy machine must not look like an unavailable server.
const patient = { REDIS_TIMEOUT_MS: '1000' }
const gateways = [await stack.startGateway(patient), await stack.startGateway(patient)]

test('a shard moves under traffic: no client sees an error, only the run id of its epoch changes, every response is charged once', {
  timeout: 120_000,
}, async () => {
  const model = await stack.createModel()
  stack.upstream.answer(model, plain('hello'))
  const customer = await stack.createCustomer({ rpm: 1_000_000, tpm: 1_000_000_000 })
  const shard = shardOf(customer.organizationId)
  for (const gateway of gateways) {
    await untilOpen(gateway)
    await untilServed(gateway, customer.key, model)
  }
  const before = await epochOf(shard)
  const asking = gateways.map((gateway) => keepAsking(gateway, customer, model))
  onTestFinished(async () => void (await Promise.all(asking.map(({ stop }) => stop()))))
  const untilMore = async (count: number) => {
    const from = asking.map(({ answers }) => answers.length)
    await vi.waitFor(
      () => expect(asking.every(({ answers }, at) => answers.length > (from[at] ?? 0) + count)).toBe(true),
      20_000,
    )
  }
  await untilMore(10)
  for (let move = 0; move < 3; move++) {
    const to = serverOf(await otherThan(shard))
    expect(await shards('move', String(shard), to)).toMatchObject({
      code: 0,
      stdout: `Shard ${shard} is at ${to} now.\n`,
      stderr: '',
    })
    await untilMore(10)
  }
  for (const { stop } of asking) await stop()

  const answers = asking.flatMap((each) => each.answers)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(1_500)
  const after = await epochOf(shard)
  expect(after.nonce).toBe(before.nonce)
  expect(after.runId).not.toBe(before.runId)

  const redis = openRedis([cluster.nodes[0]?.url ?? ''], { name: 'test', timeoutMs: 2_000 })
  onTestFinished(redis.close)
  const sums = () => readOrganizationSums(redis, customer.organizationId)
  await vi.waitFor(async () => expect(await sums()).toMatchObject({ pending: 0n, held: 0n }), 20_000)
  const { chargeRows, balance } = await stack.readBooks(customer.organizationId)
  expect(answers.filter(({ id }) => chargeRows.get(id) !== 1)).toEqual([])
  expect((await sums())?.posted).toBe(balance)
})

test('the list shows each shard once, at its primary, and what has no server', async () => {
  const { code, stdout } = await shards()
  expect(code).toBe(0)
  const listed = stdout.matchAll(/^ +(\d+|common) {2}slot +\d+ {2}\d+ keys/gm)
  expect([...listed].map(([, what]) => what).toSorted()).toEqual(
    [...Array.from({ length: 64 }, (_, shard) => String(shard)), 'common'].toSorted(),
  )
  expect(stdout.match(/^\S+:\d+ \(Valkey 9\S*\): \d+ slots/gm)).toHaveLength(3)
})

test('a command that cannot be carried out is rejected with one sentence, and nothing moves', async () => {
  const shard = 5 as Shard
  const owner = serverOf(await primaryOf(shard))
  const replica = cluster.nodes.find((node) => serverOf(node) !== owner)
  expect(replica).toBeDefined()
  expect(await shards('move', '64', owner)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Usage'),
  })
  expect(await shards('move', '5', owner)).toMatchObject({
    code: 0,
    stdout: `Shard 5 is already at ${owner}.\n`,
  })
  expect(await shards('move', '5', '127.0.0.1:1')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^127\.0\.0\.1:1 is no primary of this cluster: its primaries are .*\n$/),
  })
  expect(serverOf(await primaryOf(shard))).toBe(owner)
})

test('a primary that lacks the users of the processes gets no shard', async () => {
  const shard = 9 as Shard
  const target = await otherThan(shard)
  await cluster.ask(target, 'ACL', 'SETUSER', cabinetRedisUser.name, 'off')
  onTestFinished(async () => void (await cluster.ask(target, 'ACL', 'SETUSER', cabinetRedisUser.name, 'on')))
  expect(await shards('move', String(shard), serverOf(target))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^\S+ does not have the Redis users of \S+: run prepare-redis first\.\n$/),
  })
})

test('the worker shows a primary that has lost its replica', async () => {
  const shown = async (problem: string) =>
    await readMetric(worker, `redis_cluster_problems{problem="${problem}"}`)
  await vi.waitFor(async () => expect(await shown('no_synced_replica')).toBe(0), 20_000)
  expect(await shown('uncovered_slots')).toBe(0)
  expect(await shown('unsupported_version')).toBe(0)
  const primary = await primaryOf(0 as Shard)
  const replica = await replicaOf(primary)
  await replica.kill()
  onTestFinished(async () => {
    await replica.start()
    await cluster.untilWhole()
  })
  await vi.waitFor(async () => expect(await shown('no_synced_replica')).toBe(1), 20_000)
})

test('the worker shows a primary that has joined without the users of the processes', async () => {
  const joined = await cluster.addPrimary()
  onTestFinished(() => joined[Symbol.asyncDispose]())
  const shown = async () => await readMetric(worker, 'redis_cluster_problems{problem="unreachable_primary"}')
  await vi.waitFor(async () => expect(await shown()).toBe(1), 30_000)
  expect(await shards('move', '5', serverOf(joined))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('run prepare-redis first'),
  })
})

test('a shard whose slot is in a migration by SETSLOT is closed, and the command does not move it', async () => {
  const customer = await stack.createCustomer()
  const shard = shardOf(customer.organizationId)
  const model = await stack.createModel()
  stack.upstream.answer(model, plain('hello'))
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('no gateway')
  await untilServed(gateway, customer.key, model)
  const [source, target] = [await primaryOf(shard), await otherThan(shard)]
  const slot = String(slotOfShard(shard))
  const id = (node: RedisServer) => cluster.ask(node, 'CLUSTER', 'MYID').then(String)
  onTestFinished(async () => {
    for (const node of [source, target]) await cluster.ask(node, 'CLUSTER', 'SETSLOT', slot, 'STABLE')
  })
  const status = async () => (await post(gateway, customer.key, { model, messages })).status
  await cluster.ask(target, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', await id(source))
  await vi.waitFor(async () => expect(await status()).toBe(503), 20_000)
  await cluster.ask(target, 'CLUSTER', 'SETSLOT', slot, 'STABLE')
  await vi.waitFor(async () => expect(await status()).toBe(200), 20_000)
  await cluster.ask(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', await id(target))
  await vi.waitFor(async () => expect(await status()).toBe(503), 20_000)
  expect(await shards('move', String(shard), serverOf(target))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('in a migration by SETSLOT'),
  })
  expect((await shards()).stdout).toContain(`in a migration by SETSLOT: ${shard}\n`)
})

test('a primary is emptied under traffic: no client sees an error, and it has no slots afterwards', {
  timeout: 180_000,
}, async () => {
  const model = await stack.createModel()
  stack.upstream.answer(model, plain('hello'))
  const customer = await stack.createCustomer({ rpm: 1_000_000, tpm: 1_000_000_000 })
  for (const gateway of gateways) await untilServed(gateway, customer.key, model)
  const shard = shardOf(customer.organizationId)
  const [source, target] = [await primaryOf(shard), await otherThan(shard)]
  const asking = gateways.map((gateway) => keepAsking(gateway, customer, model))
  onTestFinished(async () => void (await Promise.all(asking.map(({ stop }) => stop()))))
  const { code, stdout, stderr } = await runEntry(
    'release/shards/main.ts',
    { REDIS_URL: cluster.url },
    { args: ['empty', serverOf(source), serverOf(target)], timeoutMs: 150_000 },
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`Shard ${shard} is at ${serverOf(target)} now.\n`)
  expect(stdout).toContain(`${serverOf(source)} has no slots now.`)
  for (const { stop } of asking) await stop()
  const statuses = asking.flatMap(({ answers }) => answers.map(({ status }) => status))
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(await shards('move', '3', serverOf(source))).toMatchObject({ code: 1 })
})
