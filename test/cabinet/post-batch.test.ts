import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { insertKey } from '#core/keys/key-store'
import type { ChargeKind } from '#core/ledger/charge-kind'
import { checkInvariants } from '#core/ledger/invariants'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { type Customer, createCustomer, entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool } = await databaseOfThisFile()

type LedgerRow = { seq: bigint; kind: string; amount: bigint; balance_after: bigint }

async function ledgerOf({ organizationId }: Customer): Promise<LedgerRow[]> {
  const { rows } = await pool.query<LedgerRow>(
    'select seq, kind, amount, balance_after from balance_ledger where organization_id = $1 order by seq',
    [organizationId],
  )
  return rows
}

async function requestOf(requestId: string) {
  const { rows } = await pool.query<{ rank: number; cost: bigint; outcome: string }>(
    "select rank, cost, record ->> 'outcome' as outcome from requests where id = $1",
    [requestId],
  )
  return rows
}

/** Breaches that have nothing to do with prices, of which these entries know nothing. */
async function breaches(): Promise<string[]> {
  const reports = await checkInvariants(pool)
  return reports
    .filter(({ name, breachCount }) => breachCount > 0 && name !== 'charge_is_tokens_times_price')
    .map(({ name }) => name)
}

test('a charge takes its cost from the balance and the key’s day, and leaves ledger row, record and roll-up', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const entry = entryOf(customer, 7n)
  const posted = await postBatch(pool, [entry])
  expect(posted).toEqual({
    balances: [{ organizationId: customer.organizationId, postedNano: 993n, version: 2n }],
    keyDays: [{ keyId: customer.keyId, day: entry.day, postedNano: 7n, version: 1n }],
    windows: [],
  })
  expect(await ledgerOf(customer)).toEqual([
    { seq: 1n, kind: 'adjustment', amount: 1_000n, balance_after: 1_000n },
    { seq: 2n, kind: 'charge', amount: -7n, balance_after: 993n },
  ])
  const { rows } = await pool.query('select * from usage_hourly where api_key_id = $1', [customer.keyId])
  expect(rows).toMatchObject([{ model: 'demo/echo', requests: 1n, input: 100n, output: 20n, cost: 7n }])
  const { rows: times } = await pool.query('select ts from requests where id = $1', [entry.requestId])
  const idMs = Number.parseInt(entry.requestId.replaceAll('-', '').slice(0, 12), 16)
  expect(times).toEqual([{ ts: new Date(idMs) }])
  expect(await breaches()).toEqual([])
})

const records = {
  released: recordOf({ outcome: 'swept', usageSource: 'none' }),
  settled: recordOf({ outcome: 'completed' }),
  corrected: recordOf({ outcome: 'unsettled' }),
}
const rankInPostgres = { released: 0, settled: 1, corrected: 2 }
type Step = readonly [kind: ChargeKind, cost: bigint]

/** Entries of one request in the order of the stream → the amount posted in the end, and its ledger rows. */
const kindTable: readonly {
  steps: readonly Step[]
  kind: ChargeKind
  cost: bigint
  rows: [string, bigint][]
}[] = [
  { steps: [['settled', 7n]], kind: 'settled', cost: 7n, rows: [['charge', -7n]] },
  { steps: [['released', 0n]], kind: 'released', cost: 0n, rows: [] },
  {
    steps: [
      ['settled', 7n],
      ['settled', 9n],
    ],
    kind: 'settled',
    cost: 7n,
    rows: [['charge', -7n]],
  },
  {
    steps: [
      ['settled', 7n],
      ['released', 0n],
    ],
    kind: 'settled',
    cost: 7n,
    rows: [['charge', -7n]],
  },
  {
    steps: [
      ['released', 0n],
      ['settled', 7n],
    ],
    kind: 'settled',
    cost: 7n,
    rows: [['adjust', -7n]],
  },
  {
    steps: [
      ['released', 5n],
      ['settled', 7n],
    ],
    kind: 'settled',
    cost: 7n,
    rows: [
      ['charge', -5n],
      ['adjust', -2n],
    ],
  },
  {
    steps: [
      ['released', 7n],
      ['settled', 7n],
    ],
    kind: 'settled',
    cost: 7n,
    rows: [['charge', -7n]],
  },
  {
    steps: [
      ['settled', 7n],
      ['corrected', 0n],
    ],
    kind: 'corrected',
    cost: 0n,
    rows: [
      ['charge', -7n],
      ['adjust', 7n],
    ],
  },
  {
    steps: [
      ['corrected', 0n],
      ['settled', 7n],
    ],
    kind: 'corrected',
    cost: 0n,
    rows: [],
  },
  {
    steps: [
      ['released', 3n],
      ['settled', 7n],
      ['settled', 8n],
      ['corrected', 0n],
      ['released', 9n],
    ],
    kind: 'corrected',
    cost: 0n,
    rows: [
      ['charge', -3n],
      ['adjust', -4n],
      ['adjust', 7n],
    ],
  },
]

for (const { steps, kind, cost, rows } of kindTable) {
  const name = steps.map(([stepKind, stepCost]) => `${stepKind}:${stepCost}`).join(' ')
  const { outcome } = records[kind]

  test.each(['one batch', 'a batch each', 'a batch each, twice'])(
    `entries of kind:cost ${name} book ${cost} in the end, in %s`,
    async (how) => {
      const customer = await createCustomer(pool, { balanceNano: 1_000n })
      const requestId = uuidV7()
      const entries = steps.map(([stepKind, stepCost]) =>
        entryOf(customer, stepCost, {
          requestId,
          chargeKind: stepKind,
          record: records[stepKind],
        }),
      )
      const batches = how === 'one batch' ? [entries] : entries.map((entry) => [entry])
      const repeated = how === 'a batch each, twice' ? [...batches, ...batches] : batches
      let last = await postBatch(pool, [])
      for (const batch of repeated) last = await postBatch(pool, batch)

      expect(await requestOf(requestId)).toEqual([{ rank: rankInPostgres[kind], cost, outcome }])
      const booked = (await ledgerOf(customer)).slice(1)
      expect(booked.map(({ kind, amount }) => [kind, amount])).toEqual(rows)
      expect(last.balances).toEqual([
        {
          organizationId: customer.organizationId,
          postedNano: 1_000n - cost,
          version: 1n + BigInt(rows.length),
        },
      ])
      expect(last.keyDays).toMatchObject([
        { keyId: customer.keyId, postedNano: cost, version: BigInt(rows.length) },
      ])
    },
  )
}

test('a correction moves the roll-up to its model and tokens', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const first = entryOf(customer, 5n, { chargeKind: 'released', record: recordOf({ modelRan: 'a/first' }) })
  const record = recordOf({ modelRan: 'a/second', tokens: { cachedInput: 3, reasoning: 4 } })
  await postBatch(pool, [first])
  await postBatch(pool, [{ ...first, chargeKind: 'settled', costNano: 7n, record }])
  const { rows } = await pool.query(
    'select model, requests, input, cached_input, reasoning, cost from usage_hourly where api_key_id = $1 order by 1',
    [customer.keyId],
  )
  expect(rows).toEqual([
    { model: 'a/first', requests: 0n, input: 0n, cached_input: 0n, reasoning: 0n, cost: 0n },
    { model: 'a/second', requests: 1n, input: 0n, cached_input: 3n, reasoning: 4n, cost: 7n },
  ])
  expect(await breaches()).toEqual([])
})

test('a request counts once by provider, as an error and by its duration, and a correction takes out what it counted before', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const attempt = { model: 'a/one', backend: 'b', ms: 1 }
  const answered = { ...attempt, provider: 'Second', result: 'answered' }
  const failed = recordOf({ outcome: 'failed', status: 502, attempts: [{ ...answered, provider: 'first' }] })
  const first = entryOf(customer, 0n, { chargeKind: 'released', record: failed })
  const done = { ...first, chargeKind: 'settled', costNano: 7n } as const
  const times = [0, 9, 10, 12, 13, 2_400, 5_000_000]
  const cut = entryOf(customer, 1n, { record: recordOf({ outcome: 'upstream_cut', attempts: [answered] }) })
  const left = entryOf(customer, 1n, {
    record: recordOf({ outcome: 'client_gone', status: 499, attempts: [] }),
  })
  await postBatch(pool, [first, cut, left])
  expect(await splitOf(customer)).toEqual(['-/1/0/1', 'first/1/1/0', 'second/1/1/1'])
  const record = recordOf({ totalMs: 100, attempts: [{ ...answered, provider: 'first' }, answered] })
  for (const _ of ['posted', 'repeated'])
    await postBatch(pool, [
      { ...done, record },
      ...times.map((totalMs, at) => ({
        ...entryOf(customer, 1n, {
          requestId: timedIds[at] ?? '',
          record: recordOf({ totalMs, attempts: [] }),
        }),
      })),
    ])
  expect(await splitOf(customer)).toEqual(['-/8/0/8', 'first/0/0/0', 'second/2/1/8'])
  const { rows } = await pool.query(
    'select class, sum(requests)::int as count from durations_hourly where api_key_id = $1 group by 1 order by 1',
    [customer.keyId],
  )
  expect(rows.map(({ class: place, count }) => [place, count])).toEqual([
    [0, 2],
    [1, 2],
    [2, 1],
    [11, 1],
    [24, 1],
    [51, 1],
  ])
  expect(await breaches()).toEqual([])
})

const timedIds = Array.from({ length: 7 }, () => uuidV7())

/** Provider, requests, errors and cost. */
async function splitOf({ keyId }: Customer): Promise<string[]> {
  const { rows } = await pool.query<{ split: string }>(
    `select concat_ws('/', provider, sum(requests), sum(errors), sum(cost)) as split
       from usage_by_provider where api_key_id = $1 group by provider order by provider`,
    [keyId],
  )
  return rows.map(({ split }) => split)
}

test('every organization and daily key spend of a batch is returned, also when nothing was posted', async () => {
  const customers = await Promise.all(
    Array.from({ length: 5 }, () => createCustomer(pool, { balanceNano: 9n })),
  )
  const free = customers.map((customer) => entryOf(customer, 0n))
  for (const posted of [await postBatch(pool, free), await postBatch(pool, free)]) {
    expect(posted.balances.map(({ organizationId }) => organizationId).sort()).toEqual(
      customers.map(({ organizationId }) => organizationId).sort(),
    )
    for (const balance of posted.balances) expect(balance).toMatchObject({ postedNano: 9n, version: 1n })
    expect(posted.keyDays).toHaveLength(5)
    for (const keyDay of posted.keyDays) expect(keyDay).toMatchObject({ postedNano: 0n, version: 0n })
  }
})

test('a charge counts on the day of its admission, whatever today is', async () => {
  const customer = await createCustomer(pool)
  const entries = [entryOf(customer, 3n), entryOf(customer, 4n, { day: 20_000 })]
  const { keyDays } = await postBatch(pool, entries)
  expect(keyDays).toContainEqual({ keyId: customer.keyId, day: 20_000, postedNano: 4n, version: 1n })
})

test('a later ending of a request that names another key or day is a data error, and changes nothing', async () => {
  const customer = await createCustomer(pool)
  const entry = entryOf(customer, 9n, { chargeKind: 'released', day: 20_000 })
  await postBatch(pool, [entry])
  const keyId = await inTestScope(pool, (client) =>
    insertKey(client, { ...customer, name: 'another', managedBy: 'cabinet' }),
  )
  const settled = { ...entry, chargeKind: 'settled', costNano: 10n } as const
  for (const other of [{ keyId }, { day: 20_001 }])
    await expect(postBatch(pool, [{ ...settled, ...other }])).rejects.toMatchObject({ code: '22023' })
  const { rows } = await pool.query(
    "select key_id, day - date '1970-01-01' as day, amount from key_daily_spend where key_id = any($1)",
    [[customer.keyId, keyId]],
  )
  expect(rows).toEqual([{ key_id: customer.keyId, day: 20_000, amount: 9n }])
  expect(await breaches()).toEqual([])
})

test('a charge to a key of another organization is a data error, and posts nothing', async () => {
  const [one, other] = [await createCustomer(pool), await createCustomer(pool)]
  const entry = entryOf(one, 5n, { keyId: other.keyId })
  await expect(postBatch(pool, [entry])).rejects.toMatchObject({ code: '22023' })
  expect(await requestOf(entry.requestId)).toEqual([])
})

const badEntries: readonly [what: string, spoil: (entry: BatchEntry) => BatchEntry][] = [
  ['an unknown organization', (entry) => ({ ...entry, organizationId: randomUUID() })],
  ['an unknown key', (entry) => ({ ...entry, keyId: randomUUID() })],
  ['a request id that is no UUIDv7', (entry) => ({ ...entry, requestId: randomUUID() })],
  ['a request id that is no UUID', (entry) => ({ ...entry, requestId: 'x' })],
  ['a negative cost', (entry) => ({ ...entry, costNano: -1n })],
  ['a cost beyond bigint', (entry) => ({ ...entry, costNano: 10n ** 19n })],
  ['a balance beyond bigint', (entry) => ({ ...entry, costNano: 2n ** 63n - 1n })],
  ['a NUL in its record', (entry) => ({ ...entry, record: recordOf({ modelRan: 'a/\0' }) })],
  ['a lone surrogate in its record', (entry) => ({ ...entry, record: recordOf({ modelRan: 'a/\ud800' }) })],
  [
    'a token count that is no number',
    (entry) => ({ ...entry, record: recordOf({ tokens: { input: 0.5 } }) }),
  ],
]

test.each(badEntries)('a batch with %s is a data error and posts nothing', async (_, spoil) => {
  const customer = await createCustomer(pool)
  const good = entryOf(customer, 5n)
  await postBatch(pool, [entryOf(customer, 5n)])
  await expect(postBatch(pool, [good, spoil(entryOf(customer, 5n))])).rejects.toMatchObject({
    code: expect.stringMatching(/^2[23]/),
  })
  expect(await requestOf(good.requestId)).toEqual([])
  expect(await ledgerOf(customer)).toHaveLength(1)
})

test('the same request id for another organization is a data error, not a second charge', async () => {
  const [one, other] = [await createCustomer(pool), await createCustomer(pool)]
  const entry = entryOf(one, 5n)
  await postBatch(pool, [entry])
  const stolen = entryOf(other, 5n, { requestId: entry.requestId })
  await expect(postBatch(pool, [stolen])).rejects.toMatchObject({ code: '23505' })
})

test('overlapping batches from eight connections at once post each request once and leave no gap', async () => {
  const customers = await Promise.all(
    Array.from({ length: 6 }, () => createCustomer(pool, { balanceNano: 10n ** 9n })),
  )
  const entries = Array.from({ length: 600 }, (_, n) => {
    const customer = customers[n % customers.length]
    if (customer === undefined) throw new Error('no customer')
    return entryOf(customer, BigInt(n + 1))
  })
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let start = 0; start < entries.length; start += 30) {
      const at = (start + lane * 90) % entries.length
      await postBatch(
        pool,
        entries.slice(at, at + 60).sort(() => Math.random() - 0.5),
      )
    }
  })
  await Promise.all(lanes)
  const { rows } = await pool.query<{ booked: bigint; amount: bigint }>(
    "select count(*) as booked, (-sum(amount))::bigint as amount from balance_ledger where kind = 'charge' and ref_id = any($1)",
    [entries.map(({ requestId }) => requestId)],
  )
  expect(rows).toEqual([{ booked: 600n, amount: (600n * 601n) / 2n }])
  expect(await breaches()).toEqual([])
})
