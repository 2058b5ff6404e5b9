import type { Pool } from 'pg'
import { linkTo } from '#cabinet/mail/cabinet-address'
import { enqueueLetter } from '#cabinet/mail/outbox'
import { enqueueAlert } from '#cabinet/notifications/alert-outbox'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { formatRub, nanoRub } from '#core/ledger/money'
import { findOwners } from '#core/organizations/owners'
import type { Job } from '#core/process/job'

/** Charges send no hint, so a low balance is found at most this long after posting. */
const everyMs = 30_000
/** Organizations of one run. The rest follow in the next run. */
const countMax = 100

const actor = { kind: 'job', name: 'low-balance' } as const

/**
 * Emails the owners of each organization whose balance has fallen below its threshold, and posts its webhook. It does so
 * once, and again only after the balance has recovered.
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

/** Resets organizations that are back at their threshold, or whose threshold was lowered or removed. */
async function forgetRecovered(client: ScopedClient): Promise<void> {
  await client.withoutAudit(
    'bookkeeping of emails; nothing changes for the organization',
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

type Fallen = {
  readonly name: string
  readonly balance: bigint
  readonly threshold: bigint
  readonly at: Date
}

/**
 * Records the fall and writes the emails, in one transaction. Of two workers, the second finds the record and writes
 * none.
 */
async function tellOwners(client: ScopedClient, organizationId: string): Promise<void> {
  const noted = await client.withoutAudit<Fallen>(
    'bookkeeping of emails; nothing changes for the organization',
    `update organizations o set low_balance_noted_at = clock_timestamp()
       from org_account a
      where o.id = $1 and a.organization_id = o.id and o.low_balance_noted_at is null
        and a.balance < o.low_balance_threshold_nano
     returning o.name, a.balance, o.low_balance_threshold_nano as threshold, o.low_balance_noted_at as at`,
    [organizationId],
  )
  const [fallen] = noted.rows
  if (fallen === undefined) return
  const vars = {
    organization: fallen.name,
    balance: formatRub(nanoRub(fallen.balance)),
    threshold: formatRub(nanoRub(fallen.threshold)),
    ...(await linkTo(client, '/app/billing')),
  }
  for (const { email, locale } of await findOwners(client, organizationId))
    await enqueueLetter(client, { kind: 'low_balance', vars, recipient: email, locale })
  const { balance, threshold } = vars
  const data = { organization_id: organizationId, balance_rub: balance, threshold_rub: threshold }
  await enqueueAlert(client, { type: 'balance.low', data }, fallen.at)
}
