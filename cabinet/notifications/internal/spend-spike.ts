import type { Queryable } from '#core/db/pool'

/** Times the median of the seven days before. */
const factor = 3n
/** 100 ₽: less is no spike, however little was spent before. */
const spentMinNano = 100_000_000_000n

export type DaySpend = {
  readonly spentNano: bigint
  /** Of the seven days before. */
  readonly medianNano: bigint
  /** Whether the first charge is at least seven days older. */
  readonly hasWeek: boolean
}

/** Whether a day's spending is a spike; never without a usual spending that it could be compared with. Pure. */
export function isSpike({ spentNano, medianNano, hasWeek }: DaySpend): boolean {
  return hasWeek && medianNano > 0n && spentNano >= spentMinNano && spentNano > factor * medianNano
}

/**
 * What an organization spent on a day in its time zone, and the median of the seven days before; days without spending
 * count. Days begin on whole hours in every time zone that an organization can have.
 */
export async function readDaySpend(
  client: Queryable,
  organizationId: string,
  day: string,
): Promise<DaySpend> {
  const { rows } = await client.query<DaySpend>(
    `with days as (
       select n, (select coalesce(sum(h.charged), 0)::bigint from ledger_hourly h
                   where h.organization_id = o.id
                     and h.hour >= ($2::date - n)::timestamp at time zone o.time_zone
                     and h.hour < ($2::date - n + 1)::timestamp at time zone o.time_zone) as spent
         from organizations o, generate_series(0, 7) n where o.id = $1)
     select max(spent) filter (where n = 0) as "spentNano",
            percentile_disc(0.5) within group (order by spent) filter (where n > 0) as "medianNano",
            exists (select from ledger_hourly h, organizations o
                     where o.id = $1 and h.organization_id = o.id
                       and h.hour < ($2::date - 6)::timestamp at time zone o.time_zone) as "hasWeek"
       from days`,
    [organizationId, day],
  )
  const [spend] = rows
  if (spend === undefined) throw new Error('Postgres returned no sums of days')
  return spend
}
