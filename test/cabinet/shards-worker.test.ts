import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Hold } from '#core/admission/admission-reply'
import type { ProjectedRow } from '#core/admission/projected-rows'
import type { WaitingEntry } from '#core/admission/waiting-entry'
import { digestOf } from '#core/catalog/catalog-document'
import { routesNameOn, routesRevisionNameOn } from '#core/catalog/catalog-names'
import { createCatalogCopy } from '#core/catalog/internal/published-catalog'
import { recordText } from '#core/ledger/request-record'
import { redisOfThisFile } from '../support/redis.ts'
import { emptyRecord, holdOf, type OpenShard, openShard, plainKey, plainSecret } from '../support/shards.ts'

const redis = await redisOfThisFile()
const rub = 1_000_000_000n

async function open(settings: Parameters<typeof openShard>[1] = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

async function reasonOf(shard: OpenShard): Promise<string> {
  const answer = await shard.admission.inspect(shard.shard, shard.secretHash)
  return answer.outcome === 'refused' ? answer.reason : 'usable'
}

test('an older row never undoes a newer one: a revoked key stays revoked', async () => {
  const shard = await open()
  const row = {
    kind: 'secret' as const,
    hash: shard.secretHash,
    keyId: shard.keyId,
    organizationId: shard.organizationId,
    validUntilMs: null,
  }
  const project = (version: bigint, state: 'active' | 'revoked') =>
    shard.posting.project(shard.shard, [{ ...row, version, state }], null)
  expect(await project(10n, 'revoked')).toMatchObject({ changed: 1 })
  expect(await project(9n, 'active')).toMatchObject({ changed: 0 })
  expect(await project(10n, 'revoked')).toMatchObject({ changed: 0 })
  expect(await reasonOf(shard)).toBe('revoked_key')
})

test('a row of the version that is there changes what differs from it, and nothing else', async () => {
  const shard = await open({ key: { rpm: 7, dailyBudgetNano: rub }, balanceNano: 5n * rub })
  const { redis: client } = shard.connection
  const hold = await shard.hold(300n)
  await shard.settle(await shard.hold(), 200n)
  const { organizationId, keyId, secretHash: hash } = shard
  const day = { kind: 'key_day' as const, keyId, day: hold.day, version: 4n, postedNano: 70n }
  await shard.posting.project(shard.shard, [day], null)

  const names = [`org:${organizationId}`, `key:${keyId}`, `cred:${hash}`, `use:${keyId}`].map(shard.nameOf)
  const [org = '', key = '', cred = '', use = ''] = names
  const all = () => Promise.all(names.map((name) => client.hgetall(name)))
  const rows = [
    { kind: 'organization' as const, organizationId, version: 1n, postedNano: 5n * rub },
    { ...plainKey(keyId), version: 1n, rpm: 7, dailyBudgetNano: rub },
    { ...plainSecret(hash, keyId, organizationId), version: 1n },
    day,
  ]
  const sound = await all()
  expect(await shard.posting.project(shard.shard, rows, null)).toMatchObject({ changed: 0 })
  expect(await all()).toEqual(sound)

  await client.hset(org, 'posted', '999999999999')
  await client.hset(key, 'rpm', '1000000')
  await client.hdel(cred, 'state')
  await client.hset(use, `${hold.day}:posted`, '0')
  expect(await shard.posting.project(shard.shard, rows, null)).toMatchObject({ changed: 4 })
  expect(await all()).toEqual(sound)
})

test('a block counts at the next request, and projecting leaves what is pending and held', async () => {
  const shard = await open()
  await shard.settle(await shard.hold(), 200n)
  await shard.hold(300n)
  await shard.set({ balanceNano: 5n * rub })
  const { balance } = await shard.state()
  expect(balance).toEqual({ postedNano: 5n * rub, pendingNano: 200n, heldNano: 300n })
  await shard.set({ key: { state: 'blocked', blockedBy: 'owner' } })
  expect(await shard.admit()).toMatchObject({ reason: 'blocked_key' })
})

test('more rows than one script takes are all copied, and the cursor comes with the last of them', async () => {
  const shard = await open()
  const rows = Array.from({ length: 450 }, () => ({
    kind: 'organization' as const,
    organizationId: randomUUID(),
    version: 1n,
    postedNano: 1n,
  }))
  expect(await shard.posting.project(shard.shard, rows, 'cursor-1')).toMatchObject({ changed: 450 })
  const cursors = await shard.posting.readCursors()
  expect(cursors[shard.shard]).toBe('cursor-1')
  await shard.posting.project(shard.shard, [], null)
  expect((await shard.posting.readCursors())[shard.shard]).toBe('cursor-1')
})

test('an epoch of this run is kept, and one of another run is replaced after a load', async () => {
  const shard = await open()
  const before = (await shard.posting.readEpochs())[shard.shard]
  expect(before).toMatchObject({ runId: shard.connection.runId() })
  expect(await shard.open()).toBe('kept')
  expect((await shard.posting.readEpochs())[shard.shard]?.nonce).toBe(before?.nonce)

  await shard.connection.redis.hset(shard.nameOf('epoch'), 'run_id', 'of-before-the-restart')
  expect(await shard.open()).toBe('opened')
  const after = (await shard.posting.readEpochs())[shard.shard]
  expect(after?.nonce).not.toBe(before?.nonce)
})

test('an epoch that was opened by a clock that ran ahead is replaced once the clock is back, and one that opens soon is not', async () => {
  const shard = await open()
  shard.clock.offsetMs = -86_400_000
  expect(await reasonOf(shard)).toBe('unavailable')
  expect((await shard.posting.readEpochs())[shard.shard]?.opensInMs).toBeGreaterThan(86_000_000)
  expect(await shard.open(6_000)).toBe('opened')
  const opensInMs = (await shard.posting.readEpochs())[shard.shard]?.opensInMs
  expect(opensInMs).toBeGreaterThan(4_000)
  expect(opensInMs).toBeLessThanOrEqual(6_000)
  expect(await shard.open(6_000)).toBe('kept')
  shard.clock.offsetMs += 6_000
  expect(await reasonOf(shard)).toBe('usable')
})

test('data lost between load and opening keep the shard closed: no key is reported as unknown', async () => {
  const shard = await open()
  const nonce = randomUUID()
  await shard.connection.redis.del(shard.nameOf('epoch'))
  await shard.posting.beginEpoch(shard.shard, nonce)
  await shard.connection.redis.del(...(await shard.connection.redis.keys(shard.nameOf('*'))))
  expect(await shard.posting.openEpoch(shard.shard, nonce, 0)).toBe('lost')
  expect(await reasonOf(shard)).toBe('unavailable')

  await shard.posting.beginEpoch(shard.shard, nonce)
  await shard.posting.beginEpoch(shard.shard, randomUUID()) // another worker began its own load
  expect(await shard.posting.openEpoch(shard.shard, nonce, 0)).toBe('lost')
})

test('a key whose organization has not arrived yet is unavailable, not unknown and not broke', async () => {
  const shard = await open()
  await shard.connection.redis.del(shard.nameOf(`org:${shard.organizationId}`))
  expect(await reasonOf(shard)).toBe('unavailable')
})

test('renewals keep a hold alive, and note what a sweep would bill', async () => {
  const shard = await open({ leaseMs: 20_000 })
  await shard.posting.sweep(shard.shard, 10)
  const hold = await shard.hold(1_000n)
  const record = { ...emptyRecord, tokens: { ...emptyRecord.tokens, output: 12 } }
  for (let renewal = 0; renewal < 10; renewal++) {
    shard.clock.offsetMs += 5_000
    const costNano = BigInt(renewal) * 10n
    expect(await shard.admission.renew(shard.shard, [{ hold, costNano, record }])).toMatchObject({
      ended: [],
    })
    await shard.posting.sweep(shard.shard, 10)
  }
  expect(await shard.charges()).toEqual([])

  for (let second = 0; second < 3; second++) {
    shard.clock.offsetMs += 8_000
    await shard.posting.sweep(shard.shard, 10)
  }
  expect(await shard.charges()).toMatchObject([
    { chargeKind: 'released', costNano: 90n, pendingNano: 90n, record },
  ])
  const { balance } = await shard.state()
  expect(balance).toMatchObject({ heldNano: 910n, pendingNano: 90n })
})

test('a hold of the first release is swept, and an unreadable one keeps no other from it', async () => {
  const shard = await open({ leaseMs: 1_000 })
  await shard.posting.sweep(shard.shard, 10)
  const holds = [await shard.hold(1_000n), await shard.hold(1_000n)]
  const { redis } = shard.connection
  const texts = holds.map(({ requestId, organizationId, keyId, day, second }, n) => {
    const [deadline, cost] = [n === 0 ? '' : '123 ', n === 0 ? '70' : '0:0']
    const text = `held ${organizationId} ${keyId} ${day} ${second} 1000 10 ${deadline}0,1 ${cost} ${recordText(emptyRecord)}`
    return redis.set(shard.nameOf(`request:${requestId}`), text)
  })
  await Promise.all(texts)
  shard.clock.offsetMs = 2_500
  expect(await shard.posting.sweep(shard.shard, 10)).toMatchObject({ swept: 2, booked: 1 })
  expect(await shard.charges()).toMatchObject([
    { requestId: holds[0]?.requestId, costNano: 70n, pendingNano: 70n },
  ])
  expect((await shard.state()).balance).toMatchObject({ heldNano: 1_000n, pendingNano: 70n })
})

describe('a request whose lease has ended', () => {
  const timeoutMs = 60_000
  /** One that was swept after it had delivered 70 nano-rubles. */
  async function swept() {
    const shard = await open({ leaseMs: 1_000 })
    await shard.posting.sweep(shard.shard, 10)
    const hold = holdOf(await shard.admit({ timeoutMs }))
    await shard.admission.renew(shard.shard, [{ hold, costNano: 70n, record: emptyRecord }])
    shard.clock.offsetMs = 2_500
    expect(await shard.posting.sweep(shard.shard, 10)).toMatchObject({ swept: 1, booked: 1 })
    return { shard, hold, balance: async () => (await shard.state()).balance }
  }

  test('keeps the rest of its hold until its deadline, for its gateway may only be cut off', async () => {
    const { shard, balance } = await swept()
    expect(await balance()).toMatchObject({ heldNano: 930n, pendingNano: 70n })
    shard.clock.offsetMs = timeoutMs - 10_000
    await sweepOn(shard)
    expect(await balance()).toMatchObject({ heldNano: 930n })
    shard.clock.offsetMs = timeoutMs + 2_000
    await sweepOn(shard)
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 70n })
    expect(await shard.charges()).toHaveLength(1)
  })

  test('has a lease again once its gateway is back, and charges only its further cost', async () => {
    const { shard, hold, balance } = await swept()
    const renewed = await shard.admission.renew(shard.shard, [{ hold, costNano: 80n, record: emptyRecord }])
    expect(renewed.ended).toEqual([])
    expect(await balance()).toMatchObject({ heldNano: 930n })
    await shard.settle(hold, 100n)
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 100n })
    expect(await shard.charges()).toMatchObject([
      { chargeKind: 'released', costNano: 70n },
      { chargeKind: 'settled', costNano: 100n, pendingNano: 30n },
    ])
  })

  test('that came to nothing gives back its hold, and its charge remains', async () => {
    const { shard, hold, balance } = await swept()
    await shard.admission.void({ hold, record: emptyRecord })
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 70n })
  })

  /** Removes its entry, after Postgres was found to have a charge of 100 as its gateway ended it. */
  const applyEnded = (shard: OpenShard, hold: Hold, entries: readonly WaitingEntry[]) =>
    shard.posting.apply(shard.shard, {
      entries,
      balances: [],
      keyDays: [],
      ended: [{ requestId: hold.requestId, chargeKind: 'settled', costNano: 100n }],
    })

  test('gives back its hold once it is posted as its gateway ended it, and a charge that is sent again adds nothing', async () => {
    const { shard, hold, balance } = await swept()
    const entries = await shard.charges()
    await applyEnded(shard, hold, entries)
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 0n })
    await applyEnded(shard, hold, entries)
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 0n })
    expect(await shard.settle(hold, 100n)).toMatchObject({ chargeId: entries[0]?.streamId, costNano: 100n })
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: 0n })
    await shard.settle(hold, 0n, 'corrected')
    expect(await balance()).toMatchObject({ heldNano: 0n, pendingNano: -100n })
    await sweepOn(shard)
    expect(await shard.charges()).toMatchObject([{ chargeKind: 'corrected', pendingNano: -100n }])
  })

  test('leaves the hold of a request that was not swept', async () => {
    const shard = await open()
    const hold = await shard.hold()
    await applyEnded(shard, hold, [])
    expect((await shard.state()).balance).toMatchObject({ heldNano: 1_000n })
  })
})

test('a server that was stopped does not charge afterwards what a client saw as free', async () => {
  const shard = await open()
  const hold = await shard.hold()
  const charge = { hold, chargeKind: 'settled' as const, costNano: 5n, tokens: 1, record: emptyRecord }
  const late = await shard.admission.settle(charge, Date.now() - 1)
  expect(late).toMatchObject({ chargeId: 'late', costNano: 0n })
  expect((await shard.state()).balance).toMatchObject({ heldNano: 1_000n, pendingNano: 0n })
  expect(await shard.admission.settle(charge, Date.now() + 60_000)).toMatchObject({ costNano: 5n })
  expect(await shard.admission.settle(charge, Date.now() - 1)).toMatchObject({ costNano: 5n }) // it is charged
})

/** Sweeps as a worker does all the time: after a gap the first one only waits. */
async function sweepOn(shard: OpenShard): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await shard.posting.sweep(shard.shard, 10)
    shard.clock.offsetMs += 1_001
  }
  await shard.posting.sweep(shard.shard, 10)
}

test('a late report of less does not take back that of a newer one', async () => {
  const shard = await open({ leaseMs: 1_000 })
  await shard.posting.sweep(shard.shard, 10)
  const hold = await shard.hold()
  await shard.admission.renew(shard.shard, [{ hold, costNano: 50n, record: emptyRecord }])
  await shard.admission.renew(shard.shard, [{ hold, costNano: 20n, record: emptyRecord }])
  shard.clock.offsetMs = 2_000
  await shard.posting.sweep(shard.shard, 10)
  expect(await shard.charges()).toMatchObject([{ costNano: 50n }])
})

test('after Redis lost everything, holds are made again before the shard opens, and buffered charges are not lost', async () => {
  const shard = await open({ key: { dailyBudgetNano: rub } })
  const running = await shard.hold(900n)
  const settled = await shard.hold(500n)
  const first = await shard.settle(settled, 450n)
  await shard.connection.redis.del(...(await shard.connection.redis.keys(shard.nameOf('*'))))

  const renewed = await shard.admission.renew(shard.shard, [
    { hold: running, costNano: 100n, record: emptyRecord },
  ])
  expect(renewed).toEqual({ mark: { nonce: '', postedThrough: '0-0' }, ended: [] })
  const again = await shard.settle(settled, 450n)
  expect(again.costNano).toBe(450n)
  expect(again.mark.nonce).not.toBe(first.mark.nonce)
  expect(await reasonOf(shard)).toBe('unavailable')

  expect(await shard.open()).toBe('opened')
  const { balance, day } = await shard.state()
  expect(balance).toEqual({ postedNano: rub, pendingNano: 450n, heldNano: 900n })
  expect(day).toMatchObject({ usedNano: 450n, heldNano: 900n })
  await shard.settle(running, 120n)
  expect((await shard.state()).balance).toMatchObject({ pendingNano: 570n, heldNano: 0n })
})

test('more renewals than one script takes are all made, and an empty list answers the mark', async () => {
  const shard = await open()
  const holds = await Promise.all(Array.from({ length: 230 }, () => shard.hold(1n, 1)))
  const ended = await Promise.all(holds.slice(0, 3).map((hold) => shard.settle(hold, 1n)))
  const running = holds.map((hold) => ({ hold, costNano: 1n, record: emptyRecord }))
  const renewed = await shard.admission.renew(shard.shard, running)
  expect(new Set(renewed.ended)).toEqual(new Set(holds.slice(0, 3).map(({ requestId }) => requestId)))
  expect((await shard.state()).balance.heldNano).toBe(227n)
  const { nonce } = renewed.mark
  expect(ended[0]?.mark.nonce).toBe(nonce)
  expect(await shard.admission.renew(shard.shard, [])).toEqual({ mark: renewed.mark, ended: [] })
})

test('a long list of renewals lets the loop turn between two parts, and the later one has the state of that time', async () => {
  const shard = await open()
  const holds = await Promise.all(Array.from({ length: 60 }, () => shard.hold(100n, 1)))
  const said: bigint[] = []
  let costNano = 0n
  function* running() {
    setImmediate(() => {
      costNano = 5n
    })
    for (const hold of holds) {
      said.push(costNano)
      yield { hold, costNano, record: emptyRecord }
    }
  }
  await shard.admission.renew(shard.shard, running())
  expect(said[0]).toBe(0n)
  expect(said.at(-1)).toBe(5n)
})

test('if nothing was swept for long, gateways get a whole lease before anything is swept', async () => {
  const shard = await open({ leaseMs: 20_000 })
  const sweepAt = async (offsetMs: number) => {
    shard.clock.offsetMs = offsetMs
    return (await shard.posting.sweep(shard.shard, 10)).state
  }
  await shard.hold()
  await sweepAt(0)
  for (const offsetMs of [25_000, 33_000, 41_000, 44_000]) expect(await sweepAt(offsetMs)).toBe('waiting')
  expect(await shard.charges()).toEqual([])
  expect(await sweepAt(46_000)).toBe('swept')
  expect(await shard.charges()).toHaveLength(1)
})

test('after a clock that ran ahead has come back, a dead gateway is swept within two leases, and none sooner than one', async () => {
  const shard = await open({ leaseMs: 20_000 })
  const sweepAt = async (offsetMs: number) => {
    shard.clock.offsetMs = offsetMs
    return (await shard.posting.sweep(shard.shard, 10)).state
  }
  await sweepAt(0)
  await sweepAt(2 * 86_400_000)
  const [dead, alive] = [await shard.hold(), await shard.hold()]
  for (const offsetMs of [0, 8_000, 16_000]) expect(await sweepAt(offsetMs)).toBe('waiting')
  await shard.admission.renew(shard.shard, [{ hold: alive, costNano: 0n, record: emptyRecord }])
  expect(await sweepAt(24_000)).toBe('swept')
  expect(await shard.charges()).toMatchObject([{ requestId: dead.requestId }])
})

test('when the epoch is new, gateways get a whole lease before anything is swept', async () => {
  const shard = await open({ leaseMs: 1_000 })
  const sweepAt = async (offsetMs: number) => {
    shard.clock.offsetMs = offsetMs
    return (await shard.posting.sweep(shard.shard, 10)).state
  }
  await sweepAt(0)
  expect(await sweepAt(2_000)).toBe('swept')
  await shard.hold()
  await shard.connection.redis.del(shard.nameOf('epoch'))
  await shard.open()
  expect(await sweepAt(4_000)).toBe('waiting')
  expect(await sweepAt(4_900)).toBe('waiting')
  expect(await shard.charges()).toEqual([])
  expect(await sweepAt(5_100)).toBe('swept')
  expect(await shard.charges()).toHaveLength(1)
})

test('a sweep ends at most as many requests as its limit, and the next one goes on', async () => {
  const shard = await open({ leaseMs: 1_000 })
  await shard.posting.sweep(shard.shard, 1)
  for (let n = 0; n < 5; n++) await shard.hold()
  shard.clock.offsetMs = 2_500
  expect(await shard.posting.sweep(shard.shard, 3)).toMatchObject({ swept: 3 })
  expect(await shard.posting.sweep(shard.shard, 3)).toMatchObject({ swept: 2 })
  expect(await shard.posting.sweep(shard.shard, 3)).toMatchObject({ swept: 0 })
  expect((await shard.charges()).length).toBe(5)
})

test('a request of which Redis has forgotten everything but its lease does not come up for a sweep again', async () => {
  const shard = await open({ leaseMs: 1 })
  await shard.connection.redis.zadd(shard.nameOf('due'), 0, 'forgotten')
  await vi.waitFor(async () =>
    expect(await shard.posting.sweep(shard.shard, 1)).toMatchObject({ state: 'swept', swept: 1 }),
  )
  expect(await shard.posting.sweep(shard.shard, 1)).toMatchObject({ state: 'swept', swept: 0 })
})

test('a gateway that comes back after it was swept charges the difference, by rank', async () => {
  const shard = await open({ leaseMs: 1_000 })
  await shard.posting.sweep(shard.shard, 10)
  const hold = await shard.hold()
  await shard.admission.renew(shard.shard, [{ hold, costNano: 70n, record: emptyRecord }])
  shard.clock.offsetMs = 2_500
  await shard.posting.sweep(shard.shard, 10)
  await shard.settle(hold, 100n)
  expect(await shard.charges()).toMatchObject([
    { chargeKind: 'released', costNano: 70n, pendingNano: 70n },
    { chargeKind: 'settled', costNano: 100n, pendingNano: 30n },
  ])
  expect((await shard.state()).balance).toMatchObject({ heldNano: 0n, pendingNano: 100n })
})

test('a row takes the place of the newer version that Postgres has lost, and of no other newer one', async () => {
  const shard = await open()
  const { posting, organizationId, keyId } = shard
  const rowsOf = (version: bigint, postedNano: bigint): ProjectedRow[] => [
    { ...plainKey(keyId), version, rpm: Number(postedNano) },
    { kind: 'organization', organizationId, version, postedNano },
    { kind: 'key_day', keyId, day: 20_000, version, postedNano },
  ]
  const fields = async () => [
    await shard.connection.redis.hget(shard.nameOf(`key:${keyId}`), 'rpm'),
    await shard.connection.redis.hget(shard.nameOf(`org:${organizationId}`), 'posted'),
    await shard.connection.redis.hget(shard.nameOf(`use:${keyId}`), '20000:posted'),
  ]
  const over = (newerVersion: bigint, rows: readonly ProjectedRow[]) =>
    rows.map((row) => ({ row, newerVersion }))
  await posting.project(shard.shard, rowsOf(33n, 330n), null)
  const older = rowsOf(3n, 30n)
  expect((await posting.project(shard.shard, older, null)).refused).toEqual(over(33n, older))
  expect(await posting.projectOver(shard.shard, over(32n, older))).toEqual(over(33n, older))
  expect(await fields()).toEqual(['330', '330', '330'])
  expect(await posting.projectOver(shard.shard, over(33n, older))).toEqual([])
  expect(await fields()).toEqual(['30', '30', '30'])
  expect(await posting.projectOver(shard.shard, over(33n, rowsOf(4n, 40n)))).toEqual([]) // another worker was faster
  expect(await fields()).toEqual(['40', '40', '40'])
  const balances = [{ organizationId, version: 2n, postedNano: 20n }]
  const keyDays = [{ keyId, day: 20_000, version: 2n, postedNano: 20n }]
  const applied = await posting.apply(shard.shard, { entries: [], balances, keyDays })
  expect(applied.refused.map(({ row, newerVersion }) => [row.kind, newerVersion])).toEqual([
    ['organization', 4n],
    ['key_day', 4n],
  ])
})

test('the catalog becomes exactly what was published, older revisions change nothing, a lost one is written again', async () => {
  const { servers } = await open()
  const catalog = createCatalogCopy(servers)
  const { redis: client } = servers.common()
  const [routes, revision] = [routesNameOn(servers), routesRevisionNameOn(servers)]
  await client.del(routes, revision)
  expect(await catalog.readCatalog()).toMatchObject({ revision: null, documentCount: 0 })
  const documents = new Map([
    ['route:a/b', 'one'],
    ['provider:a', 'two'],
  ])
  expect(await catalog.publishCatalog(7n, documents)).toBe('published')
  expect(await catalog.publishCatalog(7n, documents)).toBe('kept')
  expect(await catalog.publishCatalog(6n, new Map())).toBe('kept')
  expect(await catalog.publishCatalog(8n, new Map([['route:a/b', 'new']]))).toBe('published')
  expect(await client.hgetall(routes)).toEqual({ 'route:a/b': 'new' })

  await client.del(routes)
  expect(await catalog.publishCatalog(8n, documents)).toBe('published')
  await client.del(revision)
  expect(await catalog.publishCatalog(8n, documents)).toBe('published')
  expect(await catalog.readCatalog()).toMatchObject({
    revision: 8n,
    digest: digestOf(documents),
    documentCount: 2,
  })
  expect(await catalog.publishCatalog(9n, new Map())).toBe('published')
  expect(await client.exists(routes)).toBe(0)
})

test('a new revision is announced to who listens', async () => {
  const { servers } = await open()
  const catalog = createCatalogCopy(servers)
  const listener = servers.common().redis.duplicate({ enableOfflineQueue: true })
  onTestFinished(() => listener.disconnect())
  await listener.subscribe(routesRevisionNameOn(servers))
  const heard = new Promise((resolve) => listener.once('message', (_channel, text) => resolve(text)))
  await catalog.publishCatalog(1_000n, new Map([['route:a/b', 'x']]))
  expect(await heard).toBe('1000')
})

test('wrong sums are added up again, whatever changed them', async () => {
  const shard = await open({ leaseMs: 60_000 })
  const { redis: client } = shard.connection
  const [first, second] = [await shard.hold(100n), await shard.hold(30n)]
  await shard.settle(await shard.hold(1n), 7n)
  const { organizationId, keyId } = shard
  const day = first.day
  await client.hset(shard.nameOf(`org:${organizationId}`), 'held', '-5', 'pending', '9')
  await client.hset(shard.nameOf(`use:${keyId}`), `${day}:held`, '1', `${day - 9}:held`, '44')
  await client.zrem(shard.nameOf('due'), second.requestId) // nothing would ever sweep it

  const named = (await shard.posting.findNames([shard.shard])).get(shard.shard)
  if (named === undefined) throw new Error('the shard has no names')
  const wrong = await shard.posting.recount(shard.shard, named)
  expect(new Set(wrong === 'too_many' ? [] : wrong)).toEqual(
    new Set([
      { id: organizationId, field: 'held', was: '-5', isNow: '130' },
      { id: organizationId, field: 'pending', was: '9', isNow: '7' },
      { id: keyId, field: `${day}:held`, was: '1', isNow: '130' },
      { id: keyId, field: `${day - 9}:held`, was: '44', isNow: '0' },
    ]),
  )
  expect((await shard.state()).balance).toMatchObject({ heldNano: 130n, pendingNano: 7n })
  expect(await client.zscore(shard.nameOf('due'), second.requestId)).not.toBeNull()
  expect(await shard.posting.recount(shard.shard, named)).toEqual([])
  expect(await shard.posting.recount(shard.shard, { ...named, entriesMax: 0 })).toBe('too_many')
})
