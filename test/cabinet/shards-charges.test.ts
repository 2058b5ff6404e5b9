import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { Hold } from '#core/admission/admission-reply'
import type { WaitingCharge } from '#core/admission/waiting-entry'
import { redisOfThisFile } from '../support/redis.ts'
import { emptyRecord, holdOf, type OpenShard, openShard } from '../support/shards.ts'

const redis = await redisOfThisFile()
const rub = 1_000_000_000n

async function open(settings: Parameters<typeof openShard>[1] = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

/** What counts against the balance in addition to what Postgres has posted. */
async function amounts(shard: OpenShard) {
  const { balance, day } = await shard.state()
  return {
    pending: balance.pendingNano,
    held: balance.heldNano,
    dayUsed: day.usedNano,
    dayHeld: day.heldNano,
  }
}

async function chargesOf(shard: OpenShard): Promise<readonly WaitingCharge[]> {
  return (await shard.charges()).filter((entry) => entry.kind === 'charge')
}

async function applyAll(shard: OpenShard) {
  const entries = await shard.charges()
  return await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] })
}

test('a settled request gives its hold back and waits as one charge with its record', async () => {
  const shard = await open()
  const hold = await shard.hold(900n)
  const settled = await shard.settle(hold, 700n)
  expect(await amounts(shard)).toEqual({ pending: 700n, held: 0n, dayUsed: 700n, dayHeld: 0n })
  expect(await shard.charges()).toEqual([
    {
      kind: 'charge',
      streamId: settled.chargeId,
      requestId: hold.requestId,
      chargeKind: 'settled',
      organizationId: shard.organizationId,
      keyId: shard.keyId,
      day: hold.day,
      costNano: 700n,
      pendingNano: 700n,
      record: emptyRecord,
    },
  ])
})

test('settling twice charges once and answers the first cost and id', async () => {
  const shard = await open()
  const hold = await shard.hold()
  const first = await shard.settle(hold, 500n)
  expect(await shard.settle(hold, 777n)).toEqual(first)
  expect(await amounts(shard)).toMatchObject({ pending: 500n, held: 0n })
  expect(await shard.charges()).toHaveLength(1)
})

test('how a request ended is remembered for half an hour, and then forgotten', async () => {
  const shard = await open()
  const hold = await shard.hold()
  const ttl = () => shard.connection.redis.ttl(shard.nameOf(`request:${hold.requestId}`))
  expect(await ttl()).toBe(-1)
  await shard.settle(hold, 5n)
  expect(await ttl()).toBeGreaterThan(1_790)
  expect(await ttl()).toBeLessThanOrEqual(1_800)
})

test('a later entry of higher rank adds only the difference, and applying all of them leaves nothing', async () => {
  const shard = await open()
  const hold = await shard.hold()
  await shard.admission.void({ hold, record: emptyRecord })
  await shard.settle(hold, 600n, 'settled')
  expect(await amounts(shard)).toMatchObject({ pending: 600n })
  expect(await shard.settle(hold, 0n, 'corrected')).toMatchObject({ costNano: 0n })
  expect(await amounts(shard)).toMatchObject({ pending: 0n, dayUsed: 0n })
  expect(await shard.settle(hold, 600n, 'settled')).toMatchObject({ costNano: 0n })

  const charges = await chargesOf(shard)
  expect(charges.map(({ chargeKind, costNano, pendingNano }) => [chargeKind, costNano, pendingNano])).toEqual(
    [
      ['released', 0n, 0n],
      ['settled', 600n, 600n],
      ['corrected', 0n, -600n],
    ],
  )
  await applyAll(shard)
  expect(await amounts(shard)).toEqual({ pending: 0n, held: 0n, dayUsed: 0n, dayHeld: 0n })
})

test('a request whose ending was forgotten adds its full cost, and apply takes exactly that back', async () => {
  const shard = await open()
  const hold = await shard.hold()
  await shard.settle(hold, 400n)
  await shard.connection.redis.del(shard.nameOf(`request:${hold.requestId}`))
  await shard.settle(hold, 400n)
  expect(await amounts(shard)).toMatchObject({ pending: 800n, held: 0n })
  await applyAll(shard)
  expect(await amounts(shard)).toEqual({ pending: 0n, held: 0n, dayUsed: 0n, dayHeld: 0n })
})

test('a settle whose hold Redis does not have adds the charge and leaves the holds of others', async () => {
  const shard = await open()
  const other = await shard.hold(300n)
  const lost: Hold = { ...other, requestId: randomUUID() }
  await shard.settle(lost, 200n)
  expect(await amounts(shard)).toEqual({ pending: 200n, held: 300n, dayUsed: 200n, dayHeld: 300n })
})

test('a voided request leaves a record of cost 0 and nothing in its minute', async () => {
  const shard = await open({ key: { rpm: 10, tpm: 100 } })
  const hold = await shard.hold(900n, 60)
  const voided = await shard.admission.void({ hold, record: { ...emptyRecord, outcome: 'failed' } })
  expect(await shard.admission.void({ hold, record: emptyRecord })).toEqual(voided)
  expect(await amounts(shard)).toMatchObject({ pending: 0n, held: 0n })
  expect((await shard.state()).limits).toMatchObject(untouched)
  const charges = await chargesOf(shard)
  expect(charges.map(({ chargeKind, costNano, record }) => [chargeKind, costNano, record.outcome])).toEqual([
    ['released', 0n, 'failed'],
  ])
})

const untouched = { rpm: { remaining: 10, resetMs: 0 }, tpm: { remaining: 100, resetMs: 0 } }

test('a request for which no provider was called leaves its minute and no entry, one that failed there stays in RPM', async () => {
  const shard = await open({ key: { rpm: 10, tpm: 100 } })
  const [called, uncalled] = [await shard.hold(900n, 30), await shard.hold(900n, 60)]
  const end = (hold: Hold, tokens: number | null) =>
    shard.admission.settle({ hold, chargeKind: 'released', costNano: 0n, tokens, record: emptyRecord })
  for (let times = 0; times < 2; times++) expect(await end(uncalled, null)).toMatchObject({ chargeId: null })
  expect(await shard.charges()).toEqual([])
  expect(await amounts(shard)).toMatchObject({ pending: 0n, held: 900n })
  expect((await shard.state()).limits).toMatchObject({ rpm: { remaining: 9 }, tpm: { remaining: 70 } })
  await end(called, 0)
  expect((await shard.state()).limits).toMatchObject({ rpm: { remaining: 9 }, tpm: { remaining: 100 } })
})

test('what has left the window is not taken out of it once more', async () => {
  const shard = await open({ key: { rpm: 10, tpm: 100 } })
  const old = await shard.hold(900n, 60)
  shard.clock.offsetMs = 61_000 // its bucket is the next one's, or next to it
  await shard.hold(1n, 30)
  await shard.admission.void({ hold: old, record: emptyRecord })
  expect((await shard.state()).limits).toMatchObject({ rpm: { remaining: 9 }, tpm: { remaining: 70 } })
})

test('a void that overtakes its admit charges nothing, and the late admit makes no hold', async () => {
  const shard = await open()
  const requestId = randomUUID()
  const voided = await shard.admission.void({ hold: { requestId, shard: shard.shard }, record: emptyRecord })
  expect(voided).toMatchObject({ chargeId: null, costNano: 0n })
  expect(await shard.admit({ requestId })).toEqual({ outcome: 'refused', key: null, reason: 'already_ended' })
  expect(await amounts(shard)).toMatchObject({ held: 0n })
  expect(await shard.charges()).toEqual([])
})

test('a void that comes after the settle changes nothing and returns the result that counts', async () => {
  const shard = await open()
  const hold = await shard.hold()
  const settled = await shard.settle(hold, 500n)
  expect(await shard.admission.void({ hold, record: emptyRecord })).toEqual(settled)
  expect(await amounts(shard)).toMatchObject({ pending: 500n, held: 0n })
})

test('applying the same entries twice, by any worker, takes them back once', async () => {
  const shard = await open()
  await shard.settle(await shard.hold(), 100n)
  const entries = await shard.charges()
  await shard.settle(await shard.hold(), 23n)
  const booked = {
    entries,
    balances: [{ organizationId: shard.organizationId, postedNano: rub - 100n, version: 7n }],
    keyDays: [],
  }
  const marks = await Promise.all([1, 2, 3].map(() => shard.posting.apply(shard.shard, booked)))
  expect(await amounts(shard)).toMatchObject({ pending: 23n })
  const [id] = entries.map(({ streamId }) => streamId)
  expect(marks.map(({ postedThrough }) => postedThrough)).toEqual([id, id, id])
  expect((await shard.state()).balance.postedNano).toBe(rub - 100n)
})

test('posted sums are replaced by newer versions only, whichever of projection and apply comes first', async () => {
  const shard = await open({ key: { dailyBudgetNano: rub } })
  const hold = await shard.hold()
  const at = (postedNano: bigint, version: bigint) => ({
    entries: [],
    balances: [{ organizationId: shard.organizationId, postedNano, version }],
    keyDays: [{ keyId: shard.keyId, day: hold.day, postedNano, version }],
  })
  await shard.posting.apply(shard.shard, at(50n, 5n))
  await shard.posting.apply(shard.shard, at(40n, 4n))
  const rows = [{ kind: 'key_day' as const, keyId: shard.keyId, day: hold.day, postedNano: 30n, version: 3n }]
  expect(await shard.posting.project(shard.shard, rows, null)).toMatchObject({ changed: 0 })
  const { balance, day } = await shard.state()
  expect([balance.postedNano, day.usedNano]).toEqual([50n, 50n])
})

test('posted_through follows the newest entry applied and never goes back', async () => {
  const shard = await open()
  const first = await shard.settle(await shard.hold(), 1n)
  const second = await shard.settle(await shard.hold(), 1n)
  expect(first.mark.postedThrough).toBe('0-0')
  const entries = await shard.charges()
  await applyAll(shard)
  const again = { entries: entries.slice(0, 1), balances: [], keyDays: [] }
  expect((await shard.posting.apply(shard.shard, again)).postedThrough).toBe(second.chargeId)
  const { mark } = await shard.settle(await shard.hold(), 1n)
  expect(mark.postedThrough).toBe(second.chargeId)
})

test('posted_through follows only ids of this Redis: a lost id frees no charge of another', async () => {
  const shard = await open()
  const { chargeId } = await shard.settle(await shard.hold(), 1n)
  const there = await chargesOf(shard)
  const lost = there.map((entry) => ({ ...entry, streamId: '99999999999999-0' }))
  const apply = (entries: readonly WaitingCharge[]) =>
    shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] })
  expect((await apply(lost)).postedThrough).toBe('0-0')
  expect((await apply([...there, ...lost])).postedThrough).toBe(chargeId)
})

test('an id that Redis has given again, to another entry, takes nothing out', async () => {
  const shard = await open()
  await shard.settle(await shard.hold(), 1n)
  const [entry] = await chargesOf(shard)
  if (entry === undefined) throw new Error('nothing waits')
  const malformed = { kind: 'malformed' as const, streamId: entry.streamId, problem: 'no JSON' }
  const lost = [
    { ...entry, requestId: randomUUID() },
    { ...entry, chargeKind: 'corrected' as const },
    { ...malformed, fields: { what: 'nonsense' } },
    { ...malformed, fields: { request: randomUUID(), rank: '1' } },
  ]
  const { postedThrough } = await shard.posting.apply(shard.shard, {
    entries: lost,
    balances: [],
    keyDays: [],
  })
  expect(postedThrough).toBe('0-0')
  expect(await chargesOf(shard)).toEqual([entry])
  expect(await amounts(shard)).toMatchObject({ pending: 1n })
})

test('an unreadable entry is handed on as it is, stops nothing, and can be applied away', async () => {
  const shard = await open()
  await shard.connection.redis.xadd(shard.nameOf('charges'), '*', 'what', 'nonsense')
  const hold = await shard.hold()
  const mangled = { ...emptyRecord, attempts: Array.from({ length: 40 }, () => ({}) as never) }
  await shard.admission.settle({ hold, chargeKind: 'settled', costNano: 5n, tokens: 1, record: mangled })
  await shard.settle(await shard.hold(), 6n)

  const entries = await shard.charges()
  expect(entries.map(({ kind }) => kind)).toEqual(['malformed', 'malformed', 'charge'])
  expect(entries[0]).toMatchObject({
    fields: { what: 'nonsense' },
    problem: expect.stringContaining('request'),
  })
  await applyAll(shard)
  expect(await shard.charges()).toEqual([])
  expect(await amounts(shard)).toMatchObject({ pending: 0n })
})

test('costs beyond 2^53 in sum stay exact to the nano-ruble', async () => {
  const shard = await open({ balanceNano: 10n ** 18n })
  const most = 4_000_000_000_000_000n
  const holds: Hold[] = []
  for (let n = 0; n < 6; n++) holds.push(holdOf(await shard.admit()))
  for (const hold of holds.slice(0, 3)) await shard.settle(hold, most - 1n)
  for (const hold of holds.slice(3)) await shard.settle(hold, 2n)
  const win = await shard.connection.redis.hgetall(shard.nameOf(`org:${shard.organizationId}`))
  expect(win.pending).toBe(String(3n * (most - 1n) + 6n))
  await applyAll(shard)
  expect(await shard.connection.redis.hget(shard.nameOf(`org:${shard.organizationId}`), 'pending')).toBe('0')
})
