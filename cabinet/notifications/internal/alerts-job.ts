import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { formatRub, nanoRub } from '#core/ledger/money'
import { findOwners } from '#core/organizations/owners'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { linkTo } from '../../mail/cabinet-address.ts'
import { enqueueLetter, type Letter, mayStrangersWrite } from '../../mail/outbox.ts'
import { enqueueAlert } from '../alert-outbox.ts'
import { judgeUse } from './budget-crossing.ts'
import { noteUses, readBudgetUses, removeOldNotes, takeUnmailedUses } from './budget-uses.ts'
import { isSpike, readDaySpend } from './spend-spike.ts'

/** Charges send no hint: a reached budget is found by the first run that may check its organization. */
const everyMs = 30_000
/** Between two checks of an organization, unless a budget was changed: it may post charges all the time. */
const pauseSeconds = 30
/** Organizations of one run. The rest follow immediately. */
const countMax = 100
/** Before an organization whose check has failed is checked again: it may have failed by taking too long. */
const pauseAfterFailureMinutes = 5
/** Between two emails about budgets to one organization; what is reached in the meantime is in the next one. */
const emailEveryMinutes = 30
/** For how long after midnight charges of the day before are still expected: most are posted within seconds. */
const lateHours = 1
/** Budgets that one email lists; it counts the rest. */
const listedMax = 10

const actor = { kind: 'job', name: 'alerts' } as const

/**
 * Alerts organizations of reached budgets and unusual spending, if their spending or budgets have changed since they were
 * last checked. An alert is noted in the transaction that writes its emails, webhooks and messages: of two workers, and of a worker
 * that is killed, each alert is written once. A check that fails holds up no other organization.
 */
export function alertsJob(pool: Pool, log: Log): Job {
  return {
    name: 'alerts',
    everyMs,
    wokenBy: ['credits'],
    mayFail: true, // alerts inform; the rest of the worker does its work without them
    async run() {
      const due = await findDue(pool)
      for (const organizationId of due) {
        try {
          await inScope(pool, { actor, organizationId }, (client) => check(client, organizationId))
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error)
          log.error(
            { organizationId, error: why },
            'an organization cannot be checked for alerts; retried later',
          )
          await postpone(pool, organizationId)
        }
      }
      return due.length === countMax ? 'more' : 'idle'
    },
  }
}

/** Whether the last email about budgets is long enough ago. */
const mayEmailSql = `(s.emailed_at is null or s.emailed_at < clock_timestamp() - interval '${emailEveryMinutes} minutes')`
/** Whether budgets wait for an email that may now be written. */
const isEmailDueSql = `${mayEmailSql}
  and exists (select from budget_alerts b where b.organization_id = s.organization_id and not b.is_emailed)`

const isDueSql = `(s.budgets or s.spend_spike) and s.next_check_at <= clock_timestamp()
  and (s.checked_version is distinct from a.version or (${isEmailDueSql}))`

async function findDue(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select s.organization_id as id from notification_settings s join org_account a using (organization_id)
      where ${isDueSql} order by s.next_check_at, s.checked_at nulls first limit $1`,
    [countMax],
  )
  return rows.map(({ id }) => id)
}

/** Outside the transaction of the check, which has failed. Another worker that has locked the row is checking it. */
async function postpone(pool: Pool, organizationId: string): Promise<void> {
  await pool.query(
    `update notification_settings set next_check_at = clock_timestamp() + make_interval(mins => $2)
      where organization_id in (select organization_id from notification_settings
                                 where organization_id = $1 for no key update skip locked)`,
    [organizationId, pauseAfterFailureMinutes],
  )
}

type Due = {
  readonly organizationId: string
  readonly name: string
  readonly budgets: boolean
  readonly spendSpike: boolean
  readonly mayEmail: boolean
  readonly version: bigint
  readonly now: Date
  readonly today: string
  /** The day of the last check; null if there was none. */
  readonly checkedDay: string | null
  /** The day of the time `lateHours` before that. */
  readonly lateDay: string | null
  readonly spikeDay: string | null
}

async function check(client: ScopedClient, organizationId: string): Promise<void> {
  const due = await lockDue(client, organizationId)
  if (due === undefined) return
  await noteChecked(client, due)
  if (due.budgets) {
    // Charges of the end of a day are posted after it, and for some time after the first check of the next one.
    const days = [...new Set([due.lateDay ?? due.today, due.checkedDay ?? due.today, due.today])]
    const isLater = days.length > 1
    for (const day of days) await alertOfBudgets(client, due, day)
    if (due.mayEmail) await emailBudgets(client, due)
    if (isLater) await removeOldNotes(client, due.organizationId)
  }
  if (due.spendSpike && due.spikeDay !== due.today) await alertOfSpike(client, due)
}

/** Locks the settings, so that one worker at a time checks the organization. Who finds them locked leaves them to the next run. */
async function lockDue(client: ScopedClient, organizationId: string): Promise<Due | undefined> {
  const { rows } = await client.query<Due>(
    `select s.organization_id as "organizationId", coalesce(o.display_name, o.name) as name, s.budgets,
            s.spend_spike as "spendSpike", a.version, clock_timestamp() as now,
            ${mayEmailSql} as "mayEmail",
            (now() at time zone o.time_zone)::date::text as today,
            (s.checked_at at time zone o.time_zone)::date::text as "checkedDay",
            (s.checked_at at time zone o.time_zone - interval '${lateHours} hours')::date::text as "lateDay", s.spike_day::text as "spikeDay"
       from notification_settings s join organizations o on o.id = s.organization_id
            join org_account a on a.organization_id = s.organization_id
      where s.organization_id = $1 and ${isDueSql} for no key update of s skip locked`,
    [organizationId],
  )
  return rows[0]
}

async function noteChecked(client: ScopedClient, { organizationId, version, now }: Due): Promise<void> {
  await client.withoutAudit(
    'bookkeeping of alerts; nothing changes for the organization',
    `update notification_settings set checked_version = $2, checked_at = $3,
            next_check_at = clock_timestamp() + make_interval(secs => $4) where organization_id = $1`,
    [organizationId, version, now, pauseSeconds],
  )
}

async function alertOfBudgets(client: ScopedClient, due: Due, day: string): Promise<void> {
  const uses = (await readBudgetUses(client, due.organizationId, day)).flatMap((use) => {
    const judged = judgeUse(use)
    return judged === undefined ? [] : [{ ...use, ...judged }]
  })
  await noteUses(client, due.organizationId, uses)
  for (const use of uses.filter(({ isNew }) => isNew))
    await enqueueAlert(
      client,
      {
        type: 'budget.reached',
        data: {
          organization_id: due.organizationId,
          key_id: use.keyId,
          key_name: use.keyName,
          budget: use.budget,
          window_start: use.budget === 'total' ? null : use.firstDay,
          percent: use.percent,
          spent_rub: formatRub(nanoRub(use.spentNano)),
          budget_rub: formatRub(nanoRub(use.limitNano)),
        },
      },
      due.now,
    )
}

/** One email for all budgets that were reached since the last one. If no owner may get one now, the next run tries again. */
async function emailBudgets(client: ScopedClient, due: Due): Promise<void> {
  const recipients = await findRecipients(client, due.organizationId)
  if (recipients === 'later') return
  const { uses, count } = await takeUnmailedUses(client, due.organizationId, listedMax)
  if (count === 0) return
  const vars = {
    organization: due.name,
    budgets: uses.map(({ keyName, budget, percent, spentNano, limitNano }) => ({
      key: keyName,
      budget,
      percent,
      spent: formatRub(nanoRub(spentNano)),
      limit: formatRub(nanoRub(limitNano)),
    })),
    more: count - uses.length,
    ...(await linkTo(client, uses.every(({ keyName }) => keyName === null) ? '/app/billing' : '/app/keys')),
  }
  for (const recipient of recipients)
    await enqueueLetter(client, { kind: 'budget_reached', vars, ...recipient })
  await client.withoutAudit(
    'bookkeeping of alerts; nothing changes for the organization',
    'update notification_settings set emailed_at = clock_timestamp() where organization_id = $1',
    [due.organizationId],
  )
}

async function alertOfSpike(client: ScopedClient, due: Due): Promise<void> {
  const { organizationId, today } = due
  const spend = await readDaySpend(client, organizationId, today)
  if (!isSpike(spend)) return
  const [spent, median] = [formatRub(nanoRub(spend.spentNano)), formatRub(nanoRub(spend.medianNano))]
  const data = { organization_id: organizationId, day: today, spent_rub: spent, median_rub: median }
  await enqueueAlert(client, { type: 'spend.spike', data }, due.now)
  const vars = { organization: due.name, spent, median, ...(await linkTo(client, '/app/usage')) }
  const owners = await findOwners(client, organizationId)
  for (const { email, locale } of owners)
    await enqueueLetter(client, { kind: 'spend_spike', vars, recipient: email, locale })
  await client.withoutAudit(
    'bookkeeping of alerts; nothing changes for the organization',
    'update notification_settings set spike_day = $2 where organization_id = $1',
    [organizationId, today],
  )
}

/**
 * Owners whose mailbox has room for an alert: the last email of an hour is kept for their own actions. `later`: there are owners, but no room.
 */
async function findRecipients(
  client: ScopedClient,
  organizationId: string,
): Promise<readonly Pick<Letter, 'recipient' | 'locale'>[] | 'later'> {
  const owners = await findOwners(client, organizationId)
  const free = []
  for (const { email, locale } of owners)
    if (await mayStrangersWrite(client, email)) free.push({ recipient: email, locale })
  return owners.length > 0 && free.length === 0 ? 'later' : free
}
