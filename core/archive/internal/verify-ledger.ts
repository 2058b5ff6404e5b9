import { z } from 'zod'
import type { Queryable } from '../../db/pool.ts'
import type { ArchiveStore } from '../archive-store.ts'
import { chargeTable } from './archive-table.ts'
import { clickHouseDigest, type TimeSpan } from './compare.ts'
import { clickHouseDigestOfRow } from './compared-charges.ts'

/** A month of the ledger that left Postgres, compared with the sums that both sides had then. */
export type LedgerReport = {
  /** `balance_ledger_2026_09` */
  readonly partition: string
  readonly differences: readonly LedgerDifference[]
}

/** What the archive has of a lane of an account is not what left Postgres. */
type LedgerDifference = {
  readonly organizationId: string
  readonly lane: number
  /** The names of the sums that differ. */
  readonly differing: readonly string[]
  /** Charges that were changed in ClickHouse, named by their own digest. */
  readonly changed: readonly string[]
}

/** Sums of some organizations are compared at once: those with the same first digit. */
const digits = [...'0123456789abcdef']
/** Lanes, and charges of a lane, that one report names; the first show the cause. */
const namedMax = 20

const sumsSchema = z.object({
  organization: z.string(),
  lane: z.string(),
  entries: z.string(),
  amount_sum: z.string(),
  digest1: z.string(),
  digest2: z.string(),
})

type Sums = z.infer<typeof sumsSchema>

/**
 * Compares what the archive has of charges that left the ledger with what both sides had then, the oldest month first.
 *
 * @throws ArchiveProblem, ArchiveUnavailable
 */
export async function* verifyLedger(client: Queryable, store: ArchiveStore): AsyncGenerator<LedgerReport> {
  const months = await findLeftMonths(client)
  if (months.length > 0) await store.check(chargeTable)
  for (const { partition, ...span } of months) {
    const differences: LedgerDifference[] = []
    for (const digit of digits) {
      const left = await readLeft(client, partition, digit)
      const there = await readThere(store, span, digit)
      for (const found of findDiffering(left, there))
        if (differences.length < namedMax)
          differences.push({ ...found, changed: await findChanged(store, span, found) })
    }
    yield { partition, differences }
  }
}

async function findLeftMonths(
  client: Queryable,
): Promise<readonly (TimeSpan & { readonly partition: string })[]> {
  const { rows } = await client.query<TimeSpan & { readonly partition: string }>(
    `select name as partition, (extract(epoch from from_at) * 1000)::float8 as "fromMs",
            (extract(epoch from to_at) * 1000)::float8 as "toMs"
       from archived_ledger_months order by from_at`,
  )
  return rows
}

async function readLeft(client: Queryable, partition: string, digit: string): Promise<readonly Sums[]> {
  const { rows } = await client.query<Sums>(
    `select organization_id::text as organization, lane::text, entries::text, amount::text as amount_sum, digest1::text, digest2::text
       from archived_ledger where month = $1 and left(organization_id::text, 1) = $2`,
    [partition, digit],
  )
  return rows
}

function readThere(store: ArchiveStore, { fromMs, toMs }: TimeSpan, digit: string): Promise<readonly Sums[]> {
  return store.read(
    `select toString(organization_id) as organization, toString(bitShiftRight(seq, 48)) as lane, toString(count()) as entries,
            toString(sum(amount)) as amount_sum, toString(sum(${clickHouseDigest(chargeTable, 0)})) as digest1,
            toString(sum(${clickHouseDigest(chargeTable, 1)})) as digest2
       from ${chargeTable.name} final
      where ts >= ${fromMs} and ts < ${toMs} and substring(toString(organization_id), 1, 1) = '${digit}'
      group by organization, lane`,
    sumsSchema,
  )
}

/** Lanes whose sums are not the same on both sides. Pure. */
function findDiffering(left: readonly Sums[], there: readonly Sums[]): Omit<LedgerDifference, 'changed'>[] {
  const nameOf = ({ organization, lane }: Sums) => `${organization} ${lane}`
  const [here, found] = [left, there].map((all) => new Map(all.map((sums) => [nameOf(sums), sums])))
  return [...new Set([...left, ...there].map(nameOf))].flatMap((name) => {
    const [ours, theirs] = [here?.get(name), found?.get(name)]
    const differing = (['entries', 'amount_sum', 'digest1', 'digest2'] as const).filter(
      (sum) => (ours?.[sum] ?? '0') !== (theirs?.[sum] ?? '0'),
    )
    const [organizationId = '', lane = ''] = name.split(' ')
    return differing.length === 0 ? [] : [{ organizationId, lane: Number(lane), differing }]
  })
}

async function findChanged(
  store: ArchiveStore,
  { fromMs, toMs }: TimeSpan,
  { organizationId, lane }: Omit<LedgerDifference, 'changed'>,
): Promise<readonly string[]> {
  const rows = await store.read(
    `select toString(ref_id) as ref from ${chargeTable.name} final
      where organization_id = toUUID('${organizationId}') and bitShiftRight(seq, 48) = ${lane}
        and ts >= ${fromMs} and ts < ${toMs} and digest != ${clickHouseDigestOfRow}
      order by place limit ${namedMax}`,
    z.object({ ref: z.string() }),
  )
  return rows.map(({ ref }) => ref)
}
