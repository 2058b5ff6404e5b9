import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { putPrice, putProvider, putRoute } from '#core/catalog/catalog-store'
import { createPool } from '#core/db/pool'
import { createKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { costOf, noTokens, type Price } from '#core/ledger/price'
import { createOrganization } from '#core/organizations/organization-store'
import { storedRoute } from '../support/catalog.ts'
import { pepper, recordOf, uuidV7 } from '../support/customer.ts'

/** `npm run seed -- --rows 100000`: docs/contribute/measurements.md has the options. It runs as the owner of the database at DATABASE_URL. */
const whole = z.coerce.number().int().positive()
const options = z
  .object({
    rows: whole.default(10_000_000),
    organizations: whole.default(200),
    share: z.coerce.number().min(0).max(1).default(0.6),
    days: whole.default(60),
    batch: whole.default(2_000),
  })
  .parse(
    parseArgs({
      options: {
        rows: { type: 'string' },
        organizations: { type: 'string' },
        share: { type: 'string' },
        days: { type: 'string' },
        batch: { type: 'string' },
      },
    }).values,
  )
const databaseUrl = z.url({ error: 'DATABASE_URL must be set' }).parse(process.env.DATABASE_URL)

const dayMs = 86_400_000
const moscowMs = 3 * 3_600_000
const keysOfLarge = 10
const keysOfSmall = 2
/** The small organizations share these. The large one has a separate line, because batches lock accounts. */
const smallLines = 2
const reportEveryMs = 5_000
const inputMax = 8_000
const outputMax = 1_500

type Owner = { readonly organizationId: string; readonly keyIds: readonly string[] }
type Model = { readonly name: string; readonly price: Price }

const say = (line: string) => void process.stdout.write(`${line}\n`)
const pool = createPool({ databaseUrl, applicationName: 'seed', statementTimeoutMs: 3_600_000 })
try {
  await seed()
} finally {
  await pool.end()
}

async function seed(): Promise<void> {
  const { rows, organizations, share, days } = options
  const [fromMs, run] = [Date.now() - days * dayMs, randomBytes(3).toString('hex')]
  await makePartitions(pool, fromMs)
  const models = await makeModels(pool)
  const large = await makeOwner(`seed-${run}-large`, keysOfLarge, models, Math.ceil(rows * share), fromMs)
  const small: Owner[] = []
  for (let n = 0; n < organizations; n++)
    small.push(await makeOwner(`seed-${run}-${n}`, keysOfSmall, models, rows, fromMs))
  const rowsOfLarge = Math.round(rows * share)
  say(
    `seed-${run}-large (${large.organizationId}) gets ${rowsOfLarge} rows; ${organizations} more share the rest`,
  )

  let done = 0
  const startedMs = Date.now()
  const report = () => {
    const rate = Math.round((done / (Date.now() - startedMs)) * 1_000)
    say(`${done.toLocaleString('en')} of ${rows.toLocaleString('en')} rows, ${rate.toLocaleString('en')}/s`)
  }
  const timer = setInterval(report, reportEveryMs)
  const line = async (owners: readonly Owner[], count: number) => {
    for (let at = 0; at < count; at += options.batch) {
      const size = Math.min(options.batch, count - at)
      const timeOf = (n: number) => fromMs + Math.floor(((at + n) / count) * days * dayMs)
      const entries = Array.from({ length: size }, (_, n) => entryAt(timeOf(n), any(owners), any(models)))
      await postBatch(pool, entries)
      done += size
    }
  }
  const rest = rows - rowsOfLarge
  const parts = Array.from({ length: smallLines }, (_, part) =>
    small.filter((_, n) => n % smallLines === part),
  ).filter((owners) => owners.length > 0)
  await Promise.all([
    line([large], rowsOfLarge),
    ...parts.map((owners, part) =>
      line(owners, Math.floor(((part + 1) * rest) / parts.length) - Math.floor((part * rest) / parts.length)),
    ),
  ]).finally(() => clearInterval(timer))
  report()
  say('vacuum analyze: as autovacuum leaves a database that is not being filled')
  await pool.query('vacuum (analyze)')
}

/** Those of past months, which `ensure_partitions` does not make; as it would. */
async function makePartitions(pool: Pool, fromMs: number): Promise<void> {
  const from = new Date(fromMs)
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth()]
  for (let n = 0; Date.UTC(year, month + n) <= Date.now(); n++) {
    const [first, next] = [n, n + 1].map((at) => new Date(Date.UTC(year, month + at)).toISOString())
    for (const parent of ['balance_ledger', 'requests']) {
      const partition = `${parent}_${first?.slice(0, 7).replace('-', '_')}`
      const { rows } = await pool.query('select where to_regclass($1) is null', [partition])
      if (rows.length === 0) continue
      await pool.query(
        `create table ${partition} partition of ${parent} for values from ('${first}') to ('${next}')`,
      )
      if (parent === 'requests') continue
      await pool.query(`create trigger refuse_truncate before truncate on ${partition}
                        for each statement execute function refuse_change()`)
      await pool.query(`revoke update, delete, truncate on ${partition} from public, current_user`)
    }
  }
}

async function makeModels(pool: Pool): Promise<readonly Model[]> {
  const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => `seed/${letter}`)
  return inScope(pool, scope(null), async (client) => {
    const baseUrl = 'http://127.0.0.1:1'
    await putProvider(client, {
      name: 'seed',
      baseUrl,
      api: 'OpenAI',
      auth: { type: 'None' },
      headers: [],
      network: { http: true, privateAddresses: true },
    })
    const models: Model[] = []
    for (const [n, name] of names.entries()) {
      const fields = { cachedInput: null, cacheWrite: null, reasoning: null, perRequest: nanoRub(0n) }
      const price = { ...fields, input: nanoRub(BigInt(5_000 * (n + 1))), output: nanoRub(30_000n) }
      const { priceId } = await putPrice(client, name, price)
      const backends = [{ name: 'main', provider: 'seed', model: name, priority: 0, weight: 1 }]
      await putRoute(client, storedRoute(name, { backends }), 'priced')
      models.push({ name, price: { id: priceId, ...price } })
    }
    return models
  })
}

/** An organization with money for so many requests, given before the first of them. */
async function makeOwner(
  name: string,
  keyCount: number,
  models: readonly Model[],
  requestCount: number,
  fromMs: number,
): Promise<Owner> {
  const organizationId = await inScope(
    pool,
    scope(null),
    async (client) => (await createOrganization(client, name)).id,
  )
  return inScope(pool, scope(organizationId), async (client) => {
    const dearest = models.map(({ price }) =>
      costOf({ ...noTokens, input: inputMax, output: outputMax }, price),
    )
    const each = dearest.reduce((sum, cost) => nanoRub(sum + cost), nanoRub(0n))
    const amount = nanoRub(BigInt(requestCount) * each)
    await credit(client, {
      organizationId,
      kind: 'adjustment',
      refId: randomUUID(),
      amount,
      at: new Date(fromMs),
    })
    const keyIds: string[] = []
    for (let n = 0; n < keyCount; n++) {
      const key = { organizationId, name: `key ${n}`, managedBy: 'cabinet' } as const
      keyIds.push((await createKey(client, key, pepper)).keyId)
    }
    return { organizationId, keyIds }
  })
}

function scope(organizationId: string | null) {
  return { actor: { kind: 'command', name: 'npm run seed' }, organizationId } as const
}

function entryAt(atMs: number, { organizationId, keyIds }: Owner, { name, price }: Model): BatchEntry {
  const tokens = { ...noTokens, input: 1 + randomInt(inputMax), output: 1 + randomInt(outputMax) }
  return {
    requestId: uuidV7(atMs),
    chargeKind: 'settled',
    organizationId,
    keyId: any(keyIds),
    day: Math.floor((atMs + moscowMs) / dayMs),
    costNano: costOf(tokens, price),
    record: recordOf({ modelRan: name, priceId: price.id, tokens }),
  }
}

function any<Item>(items: readonly Item[]): Item {
  const item = items[randomInt(items.length)]
  if (item === undefined) throw new Error('nothing to choose from')
  return item
}
