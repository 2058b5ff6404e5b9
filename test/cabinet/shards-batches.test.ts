import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Candidate, createAdmission } from '#core/admission/admission'
import type { Hold } from '#core/admission/admission-reply'
import { openRedis } from '#core/redis/open-redis'
import { batchSequenceCount } from '../support/environment.ts'
import { redisOfThisFile } from '../support/redis.ts'
import {
  emptyRecord,
  fixedCandidate,
  type KeySettings,
  type OpenShard,
  openShard,
} from '../support/shards.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { createShardView, type ShardView } from './shard-view.ts'

const redis = await redisOfThisFile()

const at = (shard: OpenShard, ms: number) => {
  shard.clock.offsetMs = ms - Date.now()
}
const callsOf = async ({ connection }: OpenShard) =>
  Number(/^cmdstat_fcall:calls=(\d+)/m.exec(await connection.redis.info('commandstats'))?.[1])

const userId = randomUUID()
const amount = fc.integer({ min: 0, max: 900 }).map(BigInt)
const candidate: fc.Arbitrary<Candidate> = fc.record({
  model: fc.constantFrom('demo/echo', 'demo/slow', 'other/echo'),
  tokens: fc.constantFrom(0, 10, 35, 70, 301),
  promptNano: amount,
  outputTokenNano: fc.constantFrom(0n, 1n, 7n, 90n),
  output: fc.oneof(
    fc.record({ limit: fc.constantFrom(0, 5, 40) }),
    fc.record({
      limit: fc.constant(null),
      usual: fc.constantFrom(10, 60),
      longest: fc.constantFrom(null, 8, 200),
    }),
  ),
})
/** Of the requests so far: some are new, some are repeated. */
const pick = fc.nat({ max: 60 })
const asked = fc.record({
  pick: fc.option(pick, { freq: 5 }),
  candidates: fc.array(candidate, { minLength: 1, maxLength: 3 }),
  attempt: fc.constantFrom('final' as const, 'final' as const, 'bound' as const),
})
const ended = fc.record({
  pick,
  chargeKind: fc.constantFrom('settled' as const, 'settled' as const, 'corrected' as const),
  costNano: amount,
  tokens: fc.constantFrom(null, 0, 10, 50, 400),
  isLate: fc.constantFrom(false, false, false, true),
})
const settings: fc.Arbitrary<KeySettings> = fc.record({
  balanceNano: fc.constantFrom(-1n, 0n, 3_000n, 30_000n, 1_000_000n),
  key: fc.record(
    {
      rpm: fc.constantFrom(1, 4, 40),
      tpm: fc.constantFrom(100, 2_000),
      dailyBudgetNano: fc.constantFrom(null, 2_000n, 20_000n),
      budgets: fc.subarray([
        { of: 'key' as const, period: 'week' as const, limitNano: 4_000n },
        { of: 'key' as const, period: 'total' as const, limitNano: 50_000n },
        { of: { userId }, period: 'day' as const, limitNano: 9_000n },
        { of: { userId }, period: 'month' as const, limitNano: 25_000n },
      ]),
      state: fc.constantFrom('active', 'active', 'active', 'active', 'blocked', 'revoked'),
      allowedModels: fc.constantFrom(null, null, ['demo/*'], ['other/echo']),
    },
    { requiredKeys: [] },
  ),
  secret: fc.record(
    { state: fc.constantFrom('active' as const, 'active' as const, 'active' as const, 'revoked' as const) },
    { requiredKeys: [] },
  ),
})
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      requests: fc.array(asked, { minLength: 1, maxLength: 40, size: 'max' }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      charges: fc.array(ended, { minLength: 1, maxLength: 40, size: 'max' }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('apply' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('set' as const), settings }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      // Rejections are forgotten after a week: no clock that runs back may bring one of them near that again.
      seconds: fc.constantFrom(1, 5, 30, 61, 86_400, 7 * 86_400 + 3_600, -1, -40, -70),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
type Asked = typeof asked extends fc.Arbitrary<infer A> ? A : never
type Ended = typeof ended extends fc.Arbitrary<infer E> ? E : never

/** One shard with what its gateway knows. */
type Side = { readonly shard: OpenShard; readonly holds: Map<string, Hold>; readonly view: ShardView }

async function openSide(settings: KeySettings): Promise<Side> {
  const shard = await openShard(redis, settings)
  return { shard, holds: new Map(), view: createShardView(shard) }
}

async function admit({ shard, holds }: Side, requestId: string, { candidates, attempt }: Asked) {
  const { secretHash } = shard
  const request = { requestId, shard: shard.shard, secretHash, candidates, record: emptyRecord }
  const answer = await shard.admission.admit({ ...request, timeoutMs: 600_000, attempt })
  if (answer.outcome === 'admitted') holds.set(requestId, answer.hold)
  return answer
}

/** Also of a request that was not admitted, as if Redis had lost its hold. */
function settle({ shard, holds }: Side, nowMs: number, requestId: string, end: Ended) {
  const { organizationId, keyId } = shard
  const unknown = { day: 1, owners: '-', second: 1, holdNano: 5n, tokens: 1, deadlineMs: 1 }
  const hold = holds.get(requestId) ?? {
    requestId,
    shard: shard.shard,
    organizationId,
    keyId,
    ...unknown,
  }
  const untilMs = end.isLate ? nowMs - 5_000 : nowMs + 5_000
  return shard.admission.settle({ hold, ...end, record: emptyRecord }, untilMs)
}

/** Does the same on both sides: one after the other, and together. */
async function compare<Item>(
  [alone, together]: readonly [Side, Side],
  nowMs: number,
  items: readonly Item[],
  perform: (side: Side, item: Item) => Promise<unknown>,
): Promise<void> {
  const expected: unknown[] = []
  for (const item of items) {
    at(alone.shard, nowMs)
    expected.push(alone.view.plain(await perform(alone, item)))
  }
  at(together.shard, nowMs)
  const answers = await Promise.all(items.map((item) => perform(together, item)))
  expect(answers.map(together.view.plain)).toEqual(expected)
}

async function perform(sides: readonly [Side, Side], run: { nowMs: number; ids: string[] }, op: Step) {
  const [alone, together] = sides
  const { nowMs, ids } = run
  switch (op.kind) {
    case 'wait':
      run.nowMs += op.seconds * 1_000
      return
    case 'set':
      for (const { shard } of sides) await shard.set(op.settings)
      return
    case 'admit': {
      const requests = op.requests.map((request) => {
        const id = (request.pick === null ? undefined : ids[request.pick % ids.length]) ?? randomUUID()
        ids.push(id)
        return { id, request }
      })
      return await compare(sides, nowMs, requests, (side, { id, request }) => admit(side, id, request))
    }
    case 'settle': {
      const charges = op.charges.map((end) => ({ end, id: ids[end.pick % ids.length] ?? randomUUID() }))
      return await compare(sides, nowMs, charges, (side, { id, end }) => settle(side, nowMs, id, end))
    }
    case 'apply': {
      const none = { balances: [], keyDays: [] }
      for (const entry of await alone.shard.charges())
        await alone.shard.posting.apply(alone.shard.shard, { entries: [entry], ...none })
      const entries = await together.shard.charges()
      await together.shard.posting.apply(together.shard.shard, { entries, ...none })
    }
  }
}

/** A call that takes longer may end in another second: its sequence proves nothing. */
const stallMs = 700

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

test(
  'admissions, settlements and postings of one key that go together return and leave what separate calls would, whatever happens in whatever order',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        settings,
        fc.array(step, { minLength: 3, maxLength: 9, size: 'max' }),
        async (first, steps) => {
          const sides = [await openSide(first), await openSide(first)] as const
          try {
            // 0.2 s after a second begins, so that the few ms a call really takes decide nothing.
            const run = { nowMs: Math.ceil(Date.now() / 1_000) * 1_000 + 86_400_200, ids: [] }
            for (const op of steps) {
              const begun = performance.now()
              const failure = await perform(sides, run, op).then(() => undefined, asError)
              fc.pre(performance.now() - begun < stallMs)
              if (failure !== undefined) throw failure
              expect(await sides[1].view.read(run.nowMs)).toEqual(await sides[0].view.read(run.nowMs))
            }
          } finally {
            for (const { shard } of sides) shard.close()
          }
        },
      ),
      { numRuns: batchSequenceCount, endOnFailure: true },
    )
  },
  Math.max(120_000, batchSequenceCount * 1_000),
)

async function open(settings: KeySettings = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

test('65 admissions of one key, and as many settlements, take three calls, and each is charged', async () => {
  const shard = await open()
  await shard.state() // loads the library
  const before = await callsOf(shard)
  const holds = await Promise.all(Array.from({ length: 65 }, () => shard.hold(100n)))
  expect((await callsOf(shard)) - before).toBe(3)
  const settled = await Promise.all(holds.map((hold) => shard.settle(hold, 70n)))
  expect((await callsOf(shard)) - before).toBe(6)
  expect(new Set(settled.map(({ chargeId }) => chargeId)).size).toBe(65)
  const { balance } = await shard.state()
  expect(balance).toMatchObject({ pendingNano: 65n * 70n, heldNano: 0n })
})

test('a request that a script cannot read fails, and those in the same call do not notice', async () => {
  const shard = await open()
  const answers = await Promise.allSettled([
    shard.admit(),
    shard.admit(),
    shard.admit({ candidates: [] }),
    shard.admit(),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect((await shard.state()).limits.rpm.used).toBe(3)
  expect((await shard.state()).balance.heldNano).toBe(3_000n)
})

/** A gateway's side of the shard through a gate. */
async function throughGate(shard: OpenShard, timeoutMs: number) {
  const gate = await gateOfThisTest(Number(new URL(redis.url).port))
  const servers = openRedis([`redis://127.0.0.1:${gate.port}`], { name: 'test', timeoutMs })
  onTestFinished(servers.close)
  await servers.connected(5_000)
  const admission = createAdmission(servers)
  const admit = (request: { readonly hasLeft?: () => boolean } = {}) =>
    admission.admit({
      ...request,
      requestId: randomUUID(),
      shard: shard.shard,
      secretHash: shard.secretHash,
      candidates: [fixedCandidate()],
      record: emptyRecord,
      timeoutMs: 600_000,
    })
  return { gate, admit }
}

test('a key that is blocked while 1,000 requests wait admits none of them', async () => {
  const shard = await open({ key: { rpm: 10_000 } })
  const { gate, admit } = await throughGate(shard, 20_000)
  expect((await admit()).outcome).toBe('admitted')
  gate.holdCalls()
  const waiting = Array.from({ length: 1_000 }, () => admit())
  await shard.set({ key: { state: 'blocked', blockedBy: 'owner', rpm: 10_000 } })
  gate.letCallsPass()
  const reasons = (await Promise.all(waiting)).map((answer) =>
    answer.outcome === 'refused' ? answer.reason : answer.outcome,
  )
  expect(new Set(reasons)).toEqual(new Set(['blocked_key']))
  await shard.set({ key: { state: 'active' } })
  expect((await shard.state()).balance.heldNano).toBe(1_000n)
})

test('a request whose client leaves while it waits is not sent: it holds nothing and uses no RPM, and the others are admitted', async () => {
  const shard = await open()
  const { gate, admit } = await throughGate(shard, 20_000)
  await admit() // loads the library
  gate.holdAnswers()
  const first = admit()
  let hasLeft = false
  const clients = [() => hasLeft, () => false, () => hasLeft, () => false]
  await vi.waitFor(async () => expect((await shard.state()).limits.rpm.used).toBe(2), { interval: 1 })
  const waiting = clients.map((leaves) => admit({ hasLeft: leaves }))
  hasLeft = true
  gate.letAnswersPass()
  expect((await first).outcome).toBe('admitted')
  const answers = await Promise.all(waiting)
  const gone = { outcome: 'refused', reason: 'withdrawn' }
  expect(answers).toMatchObject([gone, { outcome: 'admitted' }, gone, { outcome: 'admitted' }])
  const { limits, balance } = await shard.state()
  expect(limits.rpm.used).toBe(4)
  expect(balance.heldNano).toBe(4_000n)
})

test('requests that wait for an answer that does not come are sent all the same, and no one is sure of them', async () => {
  const shard = await open()
  const { gate, admit } = await throughGate(shard, 100)
  gate.holdAnswers()
  const answers = await Promise.allSettled([admit(), admit(), admit()])
  const mayHaveRun = { status: 'rejected', reason: { mayHaveRun: 'yes' } }
  expect(answers).toMatchObject([mayHaveRun, mayHaveRun, mayHaveRun])
  gate.letAnswersPass()
  expect((await admit()).outcome).toBe('admitted')
  expect((await shard.state()).balance.heldNano).toBe(4_000n)
})
