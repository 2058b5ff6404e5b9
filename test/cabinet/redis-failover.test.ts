import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readOrganizationSums } from '#core/admission/organization-sums'
import { hashSlotOf } from '#core/redis/internal/hash-slot'
import { openRedis } from '#core/redis/open-redis'
import { shardOf, shardTag } from '#core/redis/shard'
import type { RedisServer } from '#standalone/redis'
import type { Customer } from '../support/customer.ts'
import { failoverCount } from '../support/environment.ts'
import { readMetric } from '../support/read-metric.ts'
import { redisClusterOfThisFile } from '../support/redis-cluster.ts'
import { redisLogins } from '../support/redis-logins.ts'
import { runEntry } from '../support/run-entry.ts'
import { post, stackOfThisFile, untilOpen, untilServed } from '../support/stack.ts'
import { plain } from '../support/upstream.ts'

const cluster = await redisClusterOfThisFile()
const stack = await stackOfThisFile({ cluster })
const messages = [{ role: 'user', content: 'Say hello' }]

const slotOf = ({ organizationId }: Customer) => hashSlotOf(shardTag(shardOf(organizationId)))

/** A customer in a shard of this primary, or of another one. */
async function customerOf(primary: RedisServer, where: 'there' | 'elsewhere'): Promise<Customer> {
  for (;;) {
    const customer = await stack.createCustomer({ rpm: 1_000_000, tpm: 1_000_000_000 })
    const isThere = (await cluster.primaryOf(slotOf(customer))) === primary
    if (isThere === (where === 'there')) return customer
  }
}

/** Sends requests one after the other until it is stopped. */
function keepAsking(gateway: Parameters<typeof post>[0], key: string, model: string) {
  const answers: { readonly status: number; readonly id: string }[] = []
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      const response = await post(gateway, key, { model, messages })
      await response.text()
      const id = response.headers.get('x-gateway-request-id') ?? ''
      answers.push({ status: response.status, id })
      await pause(response.status === 200 ? 5 : 50)
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

/** The node that replicates this primary. */
async function replicaOf(primary: RedisServer): Promise<RedisServer> {
  const id = String(await cluster.ask(primary, 'CLUSTER', 'MYID'))
  const lines = String(await cluster.ask(primary, 'CLUSTER', 'NODES')).split('\n')
  const line = lines.find((text) => text.includes(` slave ${id} `)) ?? ''
  const replica = cluster.nodes.find(({ url }) => line.includes(` ${new URL(url).host}@`))
  if (replica === undefined) throw new Error('no replica')
  return replica
}

/** A harm to a primary, with `untilMore` requests served; answers how to end it. */
type Fault = (primary: RedisServer, untilMore: () => Promise<void>) => Promise<() => Promise<unknown>>

const kill: Fault = async (primary) => {
  await primary.kill()
  return () => primary.start()
}

const faults: Readonly<Record<string, Fault>> = {
  'is killed': kill,
  'is frozen': async (primary) => {
    primary.freeze()
    return async () => primary.thaw()
  },
  // What it acknowledges from then on is lost with it.
  'is cut off from its replica, then killed': async (primary, untilMore) => {
    const replica = await replicaOf(primary)
    await cluster.ask(replica, 'CONFIG', 'SET', 'masterauth', 'wrong')
    await cluster.ask(primary, 'CLIENT', 'KILL', 'TYPE', 'replica')
    await untilMore()
    await primary.kill()
    return async () => {
      await cluster.ask(replica, 'CONFIG', 'SET', 'masterauth', '')
      await primary.start()
    }
  },
  'whose replica lacks the functions of the gateways is killed': async (primary, untilMore) => {
    const replica = await replicaOf(primary)
    const undo = await kill(primary, untilMore)
    await vi.waitFor(() => cluster.ask(replica, 'FUNCTION', 'FLUSH', 'SYNC'), 20_000) // once it is a primary
    return undo
  },
  // As one that joined after `prepare-redis`, which its operator then runs again.
  'whose replica lacks the users of the processes is killed': async (primary, untilMore) => {
    const replica = await replicaOf(primary)
    await cluster.ask(replica, 'ACL', 'DELUSER', ...redisLogins.map(({ user }) => user.name))
    const start = await kill(primary, untilMore)
    const unreachable = 'redis_cluster_problems{problem="unreachable_primary"}'
    await vi.waitFor(async () => expect(await readMetric(worker, unreachable)).toBe(1), 30_000)
    await start() // the Job asks every node
    await cluster.untilWhole()
    expect(await runEntry('release/prepare-redis/main.ts', preparing)).toMatchObject({ code: 0 })
    return () => cluster.ask(replica, 'ACL', 'LOG', 'RESET')
  },
}

const passwordOf = (process: string) =>
  redisLogins.find(({ user }) => user.name === `model_gateway_${process}`)?.password ?? ''

/** Of the Job that creates the users. */
const preparing = {
  REDIS_URL: cluster.url,
  REDIS_PASSWORD_GATEWAY: passwordOf('gateway'),
  REDIS_PASSWORD_WORKER: passwordOf('worker'),
  REDIS_PASSWORD_CABINET: passwordOf('cabinet'),
}

const cases = Object.keys(faults).flatMap((fault) =>
  Array.from({ length: failoverCount }, (_, round) => [fault, round + 1] as const),
)

const worker = await stack.startWorker()
// A busy machine must not look like an unavailable server.
const patient = { REDIS_TIMEOUT_MS: '1000' }
const gateways = [await stack.startGateway(patient), await stack.startGateway(patient)]

test.for(cases)(
  'a primary %s under load (%i): others go on, its replica serves after a new epoch, every response is charged once',
  { timeout: 180_000 },
  async ([fault]) => {
    const primary = await cluster.primaryOf(0)
    if (primary === undefined) throw new Error('no primary')
    const model = await stack.createModel()
    stack.upstream.answer(model, plain('hello'))
    const hit = await customerOf(primary, 'there')
    const spared = await customerOf(primary, 'elsewhere')
    for (const each of gateways) {
      await untilOpen(each)
      for (const { key } of [hit, spared]) await untilServed(each, key, model)
    }

    const asking = [hit, spared].map(({ key }) => gateways.map((each) => keepAsking(each, key, model)))
    const [ofHit = [], ofSpared = []] = asking
    await vi.waitFor(() => expect(ofHit.every(({ answers }) => answers.length > 10)).toBe(true), 20_000)
    let undo: (() => Promise<unknown>) | undefined
    const repair = async () => {
      await undo?.()
      undo = undefined
      await cluster.untilWhole()
      for (const each of asking.flat()) await each.stop()
    }
    onTestFinished(repair) // a failed try must not leave its fault to the next one
    const countOf = (status: number) =>
      ofHit.map(({ answers }) => answers.filter((answer) => answer.status === status).length)
    undo = await faults[fault]?.(primary, async () => {
      const from = Math.min(...countOf(200))
      await vi.waitFor(() => expect(Math.min(...countOf(200))).toBeGreaterThan(from + 10), 20_000)
    })
    await vi.waitFor(() => expect(Math.min(...countOf(503))).toBeGreaterThan(0), 20_000)
    const before = countOf(200)
    await vi.waitFor(
      () => expect(countOf(200).every((count, at) => count > (before[at] ?? 0) + 10)).toBe(true),
      { timeout: 40_000, interval: 100 },
    )
    await repair()

    const statuses = (all: typeof ofHit) =>
      new Set(all.flatMap(({ answers }) => answers.map(({ status }) => status)))
    expect(statuses(ofHit)).toEqual(new Set([200, 503]))
    expect(statuses(ofSpared)).toEqual(new Set([200]))

    const redis = openRedis([cluster.nodes[1]?.url ?? '', cluster.nodes[2]?.url ?? ''], {
      name: 'test',
      timeoutMs: 2_000,
    })
    try {
      for (const [customer, all] of [
        [hit, ofHit],
        [spared, ofSpared],
      ] as const) {
        const completed = all.flatMap(({ answers }) => answers.filter(({ status }) => status === 200))
        const sums = () => readOrganizationSums(redis, customer.organizationId)
        // Also of a request whose charge was posted, but whose end was lost with the primary.
        await vi.waitFor(async () => expect(await sums()).toMatchObject({ pending: 0n, held: 0n }), {
          timeout: 20_000,
          interval: 100,
        })
        const { chargeRows, balance } = await stack.readBooks(customer.organizationId)
        expect(completed.filter(({ id }) => chargeRows.get(id) !== 1)).toEqual([])
        expect((await sums())?.posted).toBe(balance)
      }
    } finally {
      redis.close()
    }
  },
)
