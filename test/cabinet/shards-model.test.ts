import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Charge } from '#core/admission/admission'
import type { Hold, ShardMark } from '#core/admission/admission-reply'
import { type ChargeKind, outranks } from '#core/ledger/charge-kind'
import { redisOfThisFile } from '../support/redis.ts'
import { emptyRecord, fixedCandidate, openShard } from '../support/shards.ts'
import { LedgerModel, ShardModel } from './shard-model.ts'

const redis = await redisOfThisFile()
const limits = { rpm: 6, tpm: 200, dailyBudgetNano: 4_000n }
/** Steps of the clock are whole multiples of 5 s, so that the few ms a run really takes decide nothing. */
const stepMs = 5_000
const dayMs = 86_400_000
const leaseMs = 20_000
/** Of every request: some waits are longer. */
const timeoutMs = 45_000
const sweepGapMsMax = 12_000

const pick = fc.nat({ max: 30 })
const amount = fc.bigInt({ min: 0n, max: 1_500n })
const operation = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant('admit' as const), amount, tokens: fc.nat({ max: 80 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick,
      chargeKind: fc.constantFrom('settled', 'corrected'),
      amount,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('admit_again' as const, 'void' as const, 'forget' as const),
      pick,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), pick, amount }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('book' as const), count: fc.integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('apply' as const, 'project_old' as const), pick }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('top_up' as const), amount }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), steps: fc.constantFrom(1, 2, 5, 14, 4_320) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), days: fc.constantFrom(-3, -2, 2) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('sweep' as const, 'recover' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('lose_all' as const, 'void_unknown' as const, 'apply_lost' as const),
    }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer Op> ? Op : never

/** One request as its gateway remembers it. Costs are fixed at the first try: what is sent again is the same. */
type Remembered = {
  readonly hold: Hold
  readonly costByKind: Map<ChargeKind, bigint>
  deliveredNano: bigint
  isOpen: boolean
  /** The charge, until Postgres is known to have it, and the id of its entry in the epoch called `nonce`. */
  kept?: { readonly charge: Charge; readonly chargeId: string | null; readonly nonce: string } | undefined
}

/** A real shard and its model side by side, with a gateway and a worker that remember what real ones do. */
async function startRun() {
  const shard = await openShard(redis, { key: limits, balanceNano: 0n, leaseMs, sweepGapMsMax })
  const ledger = new LedgerModel(shard.organizationId, shard.keyId)
  return {
    shard,
    ledger,
    model: new ShardModel(limits),
    requests: [] as Remembered[],
    batches: [] as Parameters<typeof shard.posting.apply>[1][],
    balances: [ledger.balance],
    sweeps: { atMs: Number.NEGATIVE_INFINITY, nonce: 'none', fromMs: 0 },
    nonce: '',
    isLost: false,
    nowMs: () => Date.now() + shard.clock.offsetMs,
  }
}
type Run = Awaited<ReturnType<typeof startRun>>

async function perform(run: Run, op: Operation): Promise<void> {
  const { shard, model, ledger } = run
  const chosen = 'pick' in op ? run.requests[op.pick % Math.max(1, run.requests.length)] : undefined
  switch (op.kind) {
    case 'admit':
      return await admit(run, randomUUID(), op.amount, op.tokens)
    case 'admit_again':
      if (chosen?.isOpen) await admit(run, chosen.hold.requestId, 1n, chosen.hold.tokens)
      return
    case 'settle':
      if (chosen !== undefined)
        await settle(run, chosen, op.chargeKind, chosen.costByKind.get(op.chargeKind) ?? op.amount)
      return
    case 'void':
      if (chosen !== undefined) await giveUp(run, chosen)
      return
    case 'void_unknown': {
      const requestId = randomUUID()
      await shard.admission.void({ hold: { requestId, shard: shard.shard }, record: emptyRecord })
      return model.voided(requestId, null)
    }
    case 'forget':
      if (chosen === undefined || !model.endings.has(chosen.hold.requestId)) return
      await shard.connection.redis.del(shard.nameOf(`request:${chosen.hold.requestId}`))
      return model.forgot(chosen.hold.requestId)
    case 'renew':
      if (chosen?.isOpen) await renew(run, [chosen], op.amount)
      return
    case 'book': {
      const entries = model.waiting.slice(0, op.count)
      const named = entries.map((entry) => ({ kind: 'charge' as const, ...entry }))
      run.batches.push({ entries: named, ...ledger.book(entries) })
      return
    }
    case 'apply':
      return await apply(run, run.batches[op.pick % Math.max(1, run.batches.length)])
    case 'apply_lost': {
      // Read from a Redis whose clock was ahead, applied to the one that came after it; or the id was given again.
      const lost = { kind: 'charge' as const, requestId: randomUUID(), chargeKind: 'settled' as const }
      const streamIds = [`${run.nowMs() + 1_000}-0`, ...model.waiting.map(({ streamId }) => streamId)]
      const entries = streamIds.map((streamId) => ({ ...lost, streamId }))
      return void (await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] }))
    }
    case 'top_up':
      ledger.credit(op.amount)
      run.balances.push(ledger.balance)
      return await project(run, ledger.balance)
    case 'project_old':
      return await project(run, run.balances[op.pick % run.balances.length])
    case 'wait':
      shard.clock.offsetMs += op.steps * stepMs
      return
    case 'jump':
      shard.clock.offsetMs += op.days * dayMs
      await compareDays(run)
      // Opened at a time that is now to come: the worker opens it again.
      if (!run.isLost && ((await shard.posting.readEpochs())[shard.shard]?.opensInMs ?? 0) > 0)
        await reopen(run)
      return
    case 'sweep':
      return await sweep(run)
    case 'lose_all':
      await shard.connection.redis.del(
        ...(await shard.connection.redis.keys(shard.nameOf('*'))),
        shard.nameOf('nothing'),
      )
      run.isLost = true
      run.sweeps.atMs = Number.NEGATIVE_INFINITY
      return model.lost()
    case 'recover':
      return await recover(run)
  }
}

async function admit(run: Run, requestId: string, holdNano: bigint, tokens: number): Promise<void> {
  const request = { requestId, tokens, amount: holdNano }
  const before = run.model.decide(run.nowMs(), request)
  const candidates = [fixedCandidate({ holdNano, tokens })]
  const answer = await run.shard.admit({ requestId, candidates, timeoutMs })
  const after = run.model.decide(run.nowMs(), request) // the second may have changed
  expect([before, after]).toContain(answer.outcome === 'refused' ? answer.reason : 'admitted')
  if (answer.outcome === 'refused') return
  const known = run.requests.find(({ hold }) => hold.requestId === requestId)
  const raised = run.model.holds.get(requestId)?.amountNano
  if (known !== undefined && raised !== undefined)
    return expect(answer.hold).toEqual({ ...known.hold, holdNano: raised })
  run.model.admitted(answer.hold, run.nowMs() + leaseMs)
  const used = run.model.usedInWindow(answer.hold.second * 1_000)
  expect(answer.limits.rpm.remaining).toBe(limits.rpm - used.requests)
  expect(answer.limits.tpm.remaining).toBe(Math.max(0, limits.tpm - used.tokens))
  if (known === undefined)
    run.requests.push({ hold: answer.hold, costByKind: new Map(), deliveredNano: 0n, isOpen: true })
}

async function settle(
  run: Run,
  request: Remembered,
  chargeKind: ChargeKind,
  costNano: bigint,
): Promise<void> {
  const { hold, costByKind } = request
  const charge = { hold, chargeKind, costNano, tokens: hold.tokens + 7, record: emptyRecord }
  costByKind.set(chargeKind, costNano)
  request.isOpen = false
  if (request.kept === undefined || !outranks(request.kept.charge.chargeKind, chargeKind))
    request.kept = { charge, chargeId: null, nonce: '' }
  const settled = await run.shard.admission.settle(charge)
  expect(settled.costNano).toBe(
    run.model.settled(hold, chargeKind, costNano, charge.tokens, settled.chargeId ?? ''),
  )
  if (request.kept !== undefined && chargeKind === request.kept.charge.chargeKind)
    request.kept = { charge: request.kept.charge, chargeId: settled.chargeId, nonce: settled.mark.nonce }
  hear(run, settled.mark)
}

async function giveUp(run: Run, request: Remembered): Promise<void> {
  request.isOpen = false
  if (!request.costByKind.has('released')) request.costByKind.set('released', 0n)
  const voided = await run.shard.admission.void({ hold: request.hold, record: emptyRecord })
  run.model.voided(request.hold.requestId, voided.chargeId)
  hear(run, voided.mark)
}

async function renew(run: Run, requests: readonly Remembered[], moreNano: bigint): Promise<void> {
  const running = requests.map((request) => {
    request.deliveredNano += moreNano
    return { hold: request.hold, costNano: request.deliveredNano, record: emptyRecord }
  })
  const { mark, ended } = await run.shard.admission.renew(run.shard.shard, running)
  const known = requests.filter(({ hold }) => run.model.endings.has(hold.requestId))
  expect(ended).toEqual(known.map(({ hold }) => hold.requestId))
  for (const { hold, deliveredNano } of requests)
    run.model.renewed(hold, deliveredNano, run.nowMs() + leaseMs)
  hear(run, mark)
}

/** As a gateway does with the mark of every answer: frees what Postgres has, but only of the same epoch. */
function hear(run: Run, mark: ShardMark): void {
  if (mark.nonce === '') return
  for (const request of run.requests) {
    const { kept } = request
    if (kept?.nonce !== mark.nonce || kept.chargeId === null || isLater(kept.chargeId, mark.postedThrough))
      continue
    const booked = run.ledger.booked.get(request.hold.requestId)
    expect(booked !== undefined && !outranks(kept.charge.chargeKind, booked.chargeKind)).toBe(true)
    request.kept = undefined
  }
}

async function apply(run: Run, batch: Run['batches'][number] | undefined): Promise<void> {
  if (batch === undefined) return
  await run.shard.posting.apply(run.shard.shard, batch)
  run.model.applied(batch.entries.map(({ streamId }) => streamId))
  for (const balance of batch.balances) run.model.posted(balance)
  for (const day of batch.keyDays) run.model.postedDay(day)
}

async function project(run: Run, balance: Run['balances'][number] | undefined): Promise<void> {
  if (balance === undefined) return
  await run.shard.posting.project(run.shard.shard, [{ kind: 'organization', ...balance }], null)
  run.model.posted(balance)
}

/** What Redis has of the key's days becomes what Postgres has, as at a new epoch and each minute. */
async function compareDays({ shard, model, ledger, requests }: Run): Promise<void> {
  const days = [...new Set(requests.map(({ hold }) => hold.day))].map((day) => ledger.day(day))
  const rows = days.map((day) => ({ kind: 'key_day' as const, ...day }))
  await shard.posting.project(shard.shard, rows, null)
  for (const day of days) model.postedDay(day)
}

async function sweep(run: Run): Promise<void> {
  const { shard, model, sweeps } = run
  const atMs = run.nowMs()
  const nonce = run.isLost ? '' : run.nonce
  if (Math.abs(atMs - sweeps.atMs) > sweepGapMsMax || sweeps.nonce !== nonce) {
    sweeps.fromMs = atMs + leaseMs
    model.endLeasesBy(sweeps.fromMs)
  }
  Object.assign(sweeps, { atMs, nonce })
  const due = model.due(atMs)
  const known = new Set(model.waiting.map(({ streamId }) => streamId))
  const answer = await shard.posting.sweep(shard.shard, 1_000)
  if (atMs < sweeps.fromMs) return expect(answer).toMatchObject({ state: 'waiting', swept: 0 })
  const booked = new Map<string, string>()
  for (const entry of await shard.charges())
    if (!known.has(entry.streamId) && entry.kind === 'charge') booked.set(entry.requestId, entry.streamId)
  for (const requestId of booked.keys()) expect(due).toContain(requestId)
  expect(answer).toMatchObject({ state: 'swept', swept: due.length, booked: booked.size })
  for (const requestId of due.filter((id) => booked.has(id)))
    model.swept(requestId, atMs, booked.get(requestId))
  for (const requestId of due.filter((id) => !booked.has(id))) model.swept(requestId, atMs, undefined)
}

/** Redis lost everything: gateways assert what they know, the worker loads and opens, gateways ask for new ids. */
async function recover(run: Run): Promise<void> {
  if (run.isLost) await reopen(run)
}

async function reopen(run: Run): Promise<void> {
  const { shard, model, requests } = run
  const resend = async () => {
    await renew(
      run,
      requests.filter(({ isOpen }) => isOpen),
      0n,
    )
    for (const request of requests) {
      const { charge } = request.kept ?? {}
      if (charge !== undefined && charge.chargeKind !== 'released')
        await settle(run, request, charge.chargeKind, charge.costNano)
    }
  }
  await resend()
  await project(run, run.ledger.balance)
  await compareDays(run)
  expect(await shard.open()).toBe('opened')
  run.nonce = (await shard.admission.renew(shard.shard, [])).mark.nonce
  run.isLost = false
  model.opened()
  await resend()
}

/** What must hold after every step: every sum in Redis is the sum of what it stands for. */
async function checkSums({ shard, model, requests }: Run): Promise<void> {
  const { redis: client } = shard.connection
  const org = await client.hgetall(shard.nameOf(`org:${shard.organizationId}`))
  const use = await client.hgetall(shard.nameOf(`use:${shard.keyId}`))
  expect({ pending: BigInt(org.pending ?? 0), held: BigInt(org.held ?? 0) }).toEqual({
    pending: model.pending(),
    held: model.held(),
  })
  for (const field of ['pending', 'held'] as const) {
    const inRedis = Object.entries(use).filter(([name, value]) => name.endsWith(`:${field}`) && value !== '0')
    const days = [...new Set(requests.map(({ hold }) => hold.day))].map(
      (day) => [day, model[field](day)] as const,
    )
    expect(new Map(inRedis.map(([name, value]) => [Number.parseInt(name, 10), BigInt(value)]))).toEqual(
      new Map(days.filter(([, amount]) => amount !== 0n)),
    )
  }
  const entries = (await shard.charges()).map((entry) => {
    if (entry.kind === 'malformed') throw new Error(entry.problem)
    const { streamId, requestId, chargeKind, costNano, pendingNano, day } = entry
    return { streamId, requestId, chargeKind, costNano, pendingNano, day }
  })
  expect(entries).toEqual(model.waiting)
}

/** Everything ends: running requests are settled, waiting charges posted. Then Postgres must have each request at its cost. */
async function drain(run: Run): Promise<void> {
  const { shard, model, ledger, requests } = run
  await recover(run)
  for (const request of requests.filter(({ isOpen }) => isOpen))
    await settle(run, request, 'settled', request.deliveredNano)
  while (model.waiting.length > 0) {
    await perform(run, { kind: 'book', count: 5 })
    await apply(run, run.batches.at(-1))
  }
  await renew(run, [], 0n)
  await checkSums(run)

  expect(await shard.charges()).toEqual([])
  expect(requests.filter(({ kept }) => kept !== undefined)).toEqual([])
  for (const { hold, costByKind } of requests) {
    const expected = costByKind.get('corrected') ?? costByKind.get('settled') ?? 0n
    expect([hold.requestId, ledger.booked.get(hold.requestId)?.costNano ?? 0n]).toEqual([
      hold.requestId,
      expected,
    ])
  }
  const org = await shard.connection.redis.hgetall(shard.nameOf(`org:${shard.organizationId}`))
  expect([BigInt(org.pending ?? 0), BigInt(org.held ?? 0)]).toEqual([0n, 0n])
}

test('no sum drifts and no charge is lost or doubled, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 20, maxLength: 60, size: 'max' }),
      async (operations) => {
        const run = await startRun()
        try {
          run.nonce = (await run.shard.admission.renew(run.shard.shard, [])).mark.nonce
          await perform(run, { kind: 'top_up', amount: 4_500n })
          for (const op of operations) {
            await perform(run, op)
            await checkSums(run)
          }
          await drain(run)
        } finally {
          run.shard.close()
        }
      },
    ),
    { numRuns: 60 },
  )
}, 60_000)

function isLater(id: string, than: string): boolean {
  const [ms = 0, sequence = 0] = id.split('-').map(Number)
  const [thanMs = 0, thanSequence = 0] = than.split('-').map(Number)
  return ms > thanMs || (ms === thanMs && sequence > thanSequence)
}
