import { z } from 'zod'
import type { Queryable } from '#core/db/pool'
import type { Locale } from '../../api/access.ts'
import { readableYear } from '../../api/fields.ts'
import type { Problem } from '../../api/problem.ts'

/** Start or end of a time span: an instant, or a day in the organization's time zone. */
export type SpanEnd = { readonly at: Date; readonly day: null } | { readonly at: null; readonly day: string }

/** As a parameter: `2026-11-22T09:00:00Z`, or `2026-11-22` for the beginning of that day. */
export const spanEnd = z
  .union([z.iso.date().regex(readableYear), z.iso.datetime({ offset: true }).regex(readableYear)])
  .transform(
    (text): SpanEnd =>
      text.length === 'YYYY-MM-DD'.length ? { at: null, day: text } : { at: new Date(text), day: null },
  )
  .meta({
    description:
      "RFC 3339, or a date, which stands for the beginning of that day in the organization's time zone.",
    examples: ['2026-11-22', '2026-11-22T09:00:00Z'],
  })

/** From an instant (inclusive) to another (exclusive); `null`: open at that end. */
export type Span = { readonly from: Date | null; readonly to: Date | null }

/** A time span with a start and an end. */
export type BoundedSpan = { readonly from: Date; readonly to: Date }

/** The instants of a time span in an organization's time zone, and the time zone. */
export async function readSpan(
  client: Queryable,
  organizationId: string,
  { from, to }: { readonly from?: SpanEnd | undefined; readonly to?: SpanEnd | undefined },
): Promise<Span & { readonly timeZone: string }> {
  const { rows } = await client.query<Span & { readonly timeZone: string }>(
    `select time_zone as "timeZone", coalesce($2::timestamptz, $3::date::timestamp at time zone time_zone) as "from",
            coalesce($4::timestamptz, $5::date::timestamp at time zone time_zone) as "to"
       from organizations where id = $1`,
    [organizationId, from?.at, from?.day, to?.at, to?.day],
  )
  const [span] = rows
  if (span === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  return span
}

/** Whether a time span ends before it begins. Pure. */
export function isBackwards({ from, to }: Span): boolean {
  return from !== null && to !== null && from > to
}

const messages = {
  backwards: { en: 'must not be later than "to"', ru: 'должно быть не позже «to»' },
  whole_hours: { en: 'must be a whole hour', ru: 'должно быть целым часом' },
  hours: {
    en: 'must be at most 31 days after "from"',
    ru: 'должно быть не более чем через 31 день после «from»',
  },
  days: {
    en: 'must be at most 400 days after "from"',
    ru: 'должно быть не более чем через 400 дней после «from»',
  },
  too_many_rows: {
    en: 'returns too many rows for one response: choose a shorter span, group by days, or export CSV',
    ru: 'даёт слишком много строк для одного ответа: выберите меньший промежуток, дни вместо часов или CSV',
  },
} as const

export type SpanMistake = keyof typeof messages

/** The problem to return for an invalid time span. Pure. */
export function spanProblem(mistake: SpanMistake, path: 'from' | 'to', locale: Locale): Problem {
  return {
    code: 'validation_failed',
    errors: [{ path, code: `span_${mistake}`, message: messages[mistake][locale] }],
  }
}
