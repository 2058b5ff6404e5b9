import { randomUUID } from 'node:crypto'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { amountNanoMax, type Charge } from '#core/admission/admission'
import { createChargeKeeper } from '#gateway/charges/charge-keeper'
import { redisOfThisFile } from '../support/redis.ts'
import { emptyRecord, type OpenShard, openShard } from '../support/shards.ts'

/** Redis may charge it whenever it comes. */
const plainAnswer = { kind: 'plain', untilMs: Number.MAX_SAFE_INTEGER } as const
const redis = await redisOfThisFile()
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function startKeeper() {
  const shard = await openShard(redis)
  let outages = 0
  const keeper = createChargeKeeper({
    admission: shard.admission,
    connectionNumber: shard.connection.connectionNumber,
    renewEveryMs: 20,
    patienceMs: 400,
    bufferedChargesMax: 2,
    now: () => performance.now(),
    onUnavailable() {
      outages += 1
    },
  })
  ends.push(keeper.stop, shard.close)
  return { keeper, shard, outages: () => outages }
}

async function chargeOf(shard: OpenShard, costNano: bigint): Promise<Charge> {
  return { hold: await shard.hold(), chargeKind: 'settled', costNano, tokens: 10, record: emptyRecord }
}

/** What a worker does, without Postgres: takes everything out of the stream as posted. */
async function postEverything(shard: OpenShard): Promise<void> {
  const entries = await shard.charges()
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] })
}

const waitingCosts = async (shard: OpenShard) =>
  (await shard.charges()).map((entry) => (entry.kind === 'charge' ? entry.costNano : undefined))

test('a charge is kept until it is posted, and then let go', async () => {
  const { keeper, shard } = await startKeeper()
  await keeper.book(await chargeOf(shard, 7n), plainAnswer)
  expect(keeper.state().kept).toBe(1)
  await postEverything(shard)
  await vi.waitFor(() => expect(keeper.state().kept).toBe(0))
})

test('a charge that Redis has lost is sent again, each time it is lost, also before a new epoch', async () => {
  const { keeper, shard } = await startKeeper()
  await keeper.book(await chargeOf(shard, 7n), plainAnswer)
  for (let loss = 0; loss < 3; loss++) {
    await shard.connection.redis.flushall()
    await vi.waitFor(async () => expect(await waitingCosts(shard)).toEqual([7n]))
  }
  await shard.open()
  await vi.waitFor(async () => expect(await waitingCosts(shard)).toEqual([7n]))
  await postEverything(shard)
  await vi.waitFor(() => expect(keeper.state().kept).toBe(0))
})

test('the hold of a running request that Redis has lost is made again', async () => {
  const { keeper, shard } = await startKeeper()
  const hold = await shard.hold(5_000n)
  keeper.track({ hold, progress: () => ({ costNano: 0n, record: emptyRecord }) })
  await shard.connection.redis.flushall()
  const heldNano = () => shard.connection.redis.hget(shard.nameOf(`org:${shard.organizationId}`), 'held')
  await vi.waitFor(async () => expect(await heldNano()).toBe('5000'))
  await keeper.release(hold, emptyRecord)
  await vi.waitFor(async () => expect(await heldNano()).toBe('0'))
})

test('an abandoned hold is renewed no longer: its lease ends, and a sweep charges the delivered part', async () => {
  const { keeper, shard } = await startKeeper()
  const hold = await shard.hold(5_000n)
  keeper.track({ hold, progress: () => ({ costNano: 40n, record: emptyRecord }) })
  const deliveredNano = async () =>
    (await shard.connection.redis.get(shard.nameOf(`request:${hold.requestId}`)))?.split(' ')[8]
  await vi.waitFor(async () => expect(await deliveredNano()).toBe('40'))
  keeper.abandon(hold)
  expect(keeper.state().open).toBe(0)
  // Two leases pass: a sweeper's first look gives a whole one.
  for (; shard.clock.offsetMs < 45_000; shard.clock.offsetMs += 5_000)
    await shard.posting.sweep(shard.shard, 10)
  expect(await waitingCosts(shard)).toEqual([40n])
})

test('a running request too expensive to be charged keeps no other of its shard from being renewed', async () => {
  const { keeper, shard } = await startKeeper()
  const [dear, other] = [await shard.hold(5_000n), await shard.hold(5_000n)]
  keeper.track({ hold: dear, progress: () => ({ costNano: 10n ** 16n, record: emptyRecord }) })
  keeper.track({ hold: other, progress: () => ({ costNano: 40n, record: emptyRecord }) })
  const deliveredNano = async ({ requestId }: typeof dear) =>
    (await shard.connection.redis.get(shard.nameOf(`request:${requestId}`)))?.split(' ')[8]
  await vi.waitFor(async () => expect(await deliveredNano(other)).toBe('40'))
  expect(await deliveredNano(dear)).toBe(String(amountNanoMax))
})

test('leases are renewed while thousands of charges are resent to a Redis that has lost everything', async () => {
  const { keeper, shard } = await startKeeper()
  const other = await openShard(redis)
  onTestFinished(other.close)
  const [ownHold, otherHold] = [await shard.hold(), await other.hold()]
  for (const hold of [ownHold, otherHold])
    keeper.track({ hold, progress: () => ({ costNano: 0n, record: emptyRecord }) })
  const count = 10_000
  for (let at = 0; at < count; at += 100) {
    const some = Array.from({ length: 100 }, () => ({ ...ownHold, requestId: randomUUID() }))
    await Promise.all(
      some.map((hold) =>
        keeper.book(
          { hold, chargeKind: 'settled', costNano: 7n, tokens: 10, record: emptyRecord },
          plainAnswer,
        ),
      ),
    )
  }
  await shard.connection.redis.flushall()

  const lookedAt = other.connection.redis
  const leases = { own: new Set<string | null>(), other: new Set<string | null>() }
  while ((await lookedAt.xlen(shard.nameOf('charges'))) < count) {
    leases.own.add(await lookedAt.zscore(shard.nameOf('due'), ownHold.requestId))
    leases.other.add(await lookedAt.zscore(other.nameOf('due'), otherHold.requestId))
  }
  expect(leases.own.size).toBeGreaterThan(5)
  expect(leases.other.size).toBeGreaterThan(5)
})

test('a request that has ended, with a charge or without one, is renewed no longer', async () => {
  const { keeper, shard } = await startKeeper()
  const [charged, released] = [await chargeOf(shard, 7n), await chargeOf(shard, 0n)]
  for (const { hold, record } of [charged, released])
    keeper.track({ hold, progress: () => ({ costNano: 0n, record }) })
  expect(keeper.state().open).toBe(2)
  await keeper.book(charged, plainAnswer)
  await keeper.release(released.hold, released.record)
  expect(keeper.state().open).toBe(0)
})

test('a charge that cannot be sent for its content keeps no other from being freed', async () => {
  const { keeper, shard } = await startKeeper()
  await keeper.book(await chargeOf(shard, 10n ** 16n), { kind: 'streamed' })
  await keeper.book(await chargeOf(shard, 7n), { kind: 'streamed' })
  expect(keeper.state().kept).toBe(2)
  await postEverything(shard)
  await vi.waitFor(() => expect(keeper.state().kept).toBe(1))
})

test('a charge without acknowledgement in time is an error for the client, and corrected to 0 once Redis is back', async () => {
  const { keeper, shard } = await startKeeper()
  const plain = await chargeOf(shard, 7n)
  const streamed = await chargeOf(shard, 9n)
  redis.freeze()
  try {
    const answers = await Promise.all([
      keeper.book(plain, plainAnswer),
      keeper.book(streamed, { kind: 'streamed' }),
    ])
    expect(answers).toEqual([undefined, undefined])
  } finally {
    redis.thaw()
  }
  // Whatever Redis had read before it froze: the plain one nets to nothing, the streamed one remains.
  await vi.waitFor(async () => {
    const entries = (await shard.charges()).filter((entry) => entry.kind === 'charge')
    const lastOf = ({ hold }: Charge) => entries.findLast(({ requestId }) => requestId === hold.requestId)
    expect(lastOf(plain)).toMatchObject({ costNano: 0n, chargeKind: 'corrected' })
    expect(lastOf(streamed)).toMatchObject({ costNano: 9n, chargeKind: 'settled' })
    const pending = entries.reduce((sum, { pendingNano }) => sum + pendingNano, 0n)
    expect(pending).toBe(9n)
  })
})

test('at the end charges that Redis has not acknowledged are waited for, however long it is down; Postgres only so long', async () => {
  const { keeper, shard, outages } = await startKeeper()
  const charge = await chargeOf(shard, 9n)
  let isFlushed = false
  redis.freeze()
  try {
    await keeper.book(charge, { kind: 'streamed' })
    void keeper.flush(0).then(() => {
      isFlushed = true
    })
    const before = outages()
    await vi.waitFor(() => expect(outages()).toBeGreaterThan(before + 2))
    expect([isFlushed, keeper.unacknowledgedCount()]).toEqual([false, 1])
  } finally {
    redis.thaw()
  }
  await vi.waitFor(() => expect(isFlushed).toBe(true))
  expect([keeper.unacknowledgedCount(), keeper.state().kept]).toEqual([0, 1])
  expect(await waitingCosts(shard)).toEqual([9n])
})

test('with as many buffered charges as it may keep it is full, until some are posted', async () => {
  const { keeper, shard } = await startKeeper()
  await keeper.book(await chargeOf(shard, 1n), plainAnswer)
  expect(keeper.isFull()).toBe(false)
  await keeper.book(await chargeOf(shard, 1n), plainAnswer)
  expect(keeper.isFull()).toBe(true)
  await postEverything(shard)
  await vi.waitFor(() => expect(keeper.isFull()).toBe(false))
})
