import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '../audit/scope.ts'
import { formatRub, nanoRub } from '../ledger/money.ts'
import { enqueueLetter } from '../mail/outbox.ts'
import type { Job } from '../process/job.ts'
import { findOwners } from './owners.ts'

/** Charges give no hint: a fall is seen at most this long after it was booked. */
const everyMs = 30_000
/** Organizations of one run; the rest follow in the next. */
const countMax = 100

const actor = { kind: 'job', name: 'low-balance' } as const

/**
 * Writes to the owners of each organization whose balance has fallen below its threshold: once, whatever the balance
 * does below it, and again only after it was back.
 */
export function lowBalanceJob(pool: Pool): Job {
  return {
    name: 'low_balance',
    everyMs,
    wokenBy: ['credits'],
    async run() {
      await inScope(pool, { actor, organizationId: null }, forgetRecovered)
      const fallen = await findFallen(pool)
      for (const organizationId of fallen)
        await inScope(pool, { actor, organizationId }, (client) => tellOwners(client, organizationId))
      return fallen.length === countMax ? 'more' : 'idle'
    },
  }
}

/** Makes ready for the next fall whoever is back at the threshold, has a lower one now, or none. */
async function forgetRecovered(client: ScopedClient): Promise<void> {
  await client.unaudited(
    `update organizations o set low_balance_noted_at = null
       from org_account a
      where a.organization_id = o.id and o.low_balance_noted_at is not null
        and (o.low_balance_threshold_nano is null or a.balance >= o.low_balance_threshold_nano)`,
    [],
  )
}

async function findFallen(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select o.id from organizations o join org_account a on a.organization_id = o.id
      where o.low_balance_threshold_nano is not null and o.low_balance_noted_at is null
        and a.balance < o.low_balance_threshold_nano
      limit $1`,
    [countMax],
  )
  return rows.map(({ id }) => id)
}

type Fallen = { readonly name: string; readonly balance: bigint; readonly threshold: bigint }

/** Notes the fall and writes the letters, together. Of two workers the second one finds it noted and writes none. */
async function tellOwners(client: ScopedClient, organizationId: string): Promise<void> {
  const noted = await client.unaudited<Fallen>(
    `update organizations o set low_balance_noted_at = clock_timestamp()
       from org_account a
      where o.id = $1 and a.organization_id = o.id and o.low_balance_noted_at is null
        and a.balance < o.low_balance_threshold_nano
     returning o.name, a.balance, o.low_balance_threshold_nano as threshold`,
    [organizationId],
  )
  const [fallen] = noted.rows
  if (fallen === undefined) return
  const vars = {
    organization: fallen.name,
    balance: formatRub(nanoRub(fallen.balance)),
    threshold: formatRub(nanoRub(fallen.threshold)),
  }
  for (const { email, locale } of await findOwners(client, organizationId))
    await enqueueLetter(client, { kind: 'low_balance', vars, recipient: email, locale })
}
