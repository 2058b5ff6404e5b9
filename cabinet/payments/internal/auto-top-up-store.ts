import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { Place } from '../../people/consents.ts'
import type { ShownAutoTopUp } from '../auto-top-up-contracts.ts'

export type AutoTopUpSettings = {
  readonly threshold: NanoRub
  readonly amount: NanoRub
  readonly dailyMax: NanoRub
}

type Row = { readonly [Name in keyof AutoTopUpSettings]: NanoRub | null } & {
  readonly brand: string | null
  readonly last4: string
  readonly expires: string
  readonly savedAt: Date
  readonly stoppedAt: Date | null
  readonly reason: string | null
  readonly chargedToday: bigint
}

/** Of the organization `o`: automatic payments that have not failed and count for the maximum of today. */
export const chargedTodaySql = 'charged_automatically(o.id)'

/** The saved card and the settings of an organization. @throws Error if the organization does not exist */
export async function readAutoTopUp(client: Queryable, organizationId: string): Promise<ShownAutoTopUp> {
  const { rows } = await client.query<Row>(
    `select c.brand, c.last4, c.expires, c.saved_at as "savedAt", c.threshold_nano as threshold, c.amount_nano as amount,
            c.daily_max_nano as "dailyMax", c.stopped_at as "stoppedAt", c.stop_reason as reason,
            ${chargedTodaySql} as "chargedToday"
       from organizations o left join saved_cards c on c.organization_id = o.id where o.id = $1`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`organization ${organizationId} does not exist`)
  return show(row)
}

function show(row: Row): ShownAutoTopUp {
  const { brand, threshold, amount, dailyMax, stoppedAt, reason } = row
  const hasSettings = threshold !== null && amount !== null && dailyMax !== null
  const stop = stoppedAt === null || reason === null ? null : { at: stoppedAt.toISOString(), reason }
  return {
    state: brand === null ? 'no_card' : stop !== null ? 'stopped' : hasSettings ? 'on' : 'off',
    card:
      brand === null
        ? null
        : { brand, last4: row.last4, expires: row.expires, saved_at: row.savedAt.toISOString() },
    settings: hasSettings
      ? {
          threshold_rub: formatRub(threshold),
          amount_rub: formatRub(amount),
          daily_max_rub: formatRub(dailyMax),
        }
      : null,
    charged_today_rub: formatRub(nanoRub(row.chargedToday)),
    stop,
  }
}

/** States of a saved card, for metrics. */
export const cardStates = ['off', 'on', 'stopped'] as const

/** Automatic payments of the last 24 hours by status, and organizations with a saved card by state. */
export async function countAutoTopUps(client: Queryable): Promise<{
  readonly payments: ReadonlyMap<string, number>
  readonly cards: ReadonlyMap<string, number>
}> {
  const payments = await client.query<{ name: string; count: number }>(
    `select status as name, count(*)::int from payments
      where created_at > clock_timestamp() - interval '24 hours' and automatic_day is not null group by 1`,
  )
  const cards = await client.query<{ name: string; count: number }>(
    `select case when stopped_at is not null then 'stopped' when amount_nano is null then 'off' else 'on' end as name,
            count(*)::int from saved_cards group by 1`,
  )
  const counted = (rows: readonly { name: string; count: number }[]) =>
    new Map(rows.map(({ name, count }) => [name, count]))
  return { payments: counted(payments.rows), cards: counted(cards.rows) }
}

/** Turns automatic top-ups on with these settings, also after they were stopped: only the user who saved the card may. */
export async function setAutoTopUp(
  client: ScopedClient,
  { userId, organizationId }: { readonly userId: string; readonly organizationId: string },
  settings: AutoTopUpSettings,
): Promise<'set' | 'no_card' | 'not_own_card'> {
  // The row is locked, so that two changes are audited one after the other.
  const { rows } = await client.query<
    { [Name in keyof AutoTopUpSettings]: bigint | null } & { readonly userId: string }
  >(
    `select user_id as "userId", threshold_nano as threshold, amount_nano as amount, daily_max_nano as "dailyMax"
       from saved_cards where organization_id = $1 for no key update`,
    [organizationId],
  )
  const [before] = rows
  if (before === undefined) return 'no_card'
  if (before.userId !== userId) return 'not_own_card'
  await client.change(
    `update saved_cards set threshold_nano = $2, amount_nano = $3, daily_max_nano = $4, stopped_at = null,
            stop_reason = null, next_check_at = '-infinity' where organization_id = $1`,
    [organizationId, settings.threshold, settings.amount, settings.dailyMax],
    () => ({
      action: 'card.set_top_ups',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: before.amount === null ? null : auditedOf(before),
      after: auditedOf(settings),
    }),
  )
  return 'set'
}

function auditedOf({ threshold, amount, dailyMax }: { [Name in keyof AutoTopUpSettings]: bigint | null }) {
  return {
    thresholdNano: String(threshold),
    amountNano: String(amount),
    dailyMaxNano: String(dailyMax),
  }
}

/**
 * Removes the saved card, and withdraws the consents to it and to cards of unpaid payments. A trigger cancels an automatic
 * payment whose call was not made yet.
 */
export async function removeSavedCard(
  client: ScopedClient,
  organizationId: string,
  { address, agent }: Place,
): Promise<void> {
  await client.change<{ last4: string | null; count: number }>(
    'select last4, withdrawn_count as count from end_saved_card($1, $2, $3)',
    [organizationId, address, agent],
    ([ended]) =>
      ended === undefined || (ended.last4 === null && ended.count === 0)
        ? undefined
        : {
            action: 'card.remove',
            subject: { kind: 'Organization', id: organizationId },
            organizationId,
            before: { last4: ended.last4 },
            after: null,
          },
  )
}
