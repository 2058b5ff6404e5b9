import { z } from 'zod'
import type { Locale } from '../../api/access.ts'
import { readableYear } from '../../api/fields.ts'
import type { Problem } from '../../api/problem.ts'
import type { Queryable } from '../../db/pool.ts'

/** Where a span of time begins or ends: an instant, or a day of the organization's time zone. */
export type SpanEnd = { readonly at: Date; readonly day: null } | { readonly at: null; readonly day: string }

/** As a parameter: `2026-11-22T09:00:00Z`, or `2026-11-22`, which is the beginning of that day. */
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

/** From an instant on, up to but without another; `null`: open at that end. */
export type Span = { readonly from: Date | null; readonly to: Date | null }

/** A span with both its ends. */
export type BoundedSpan = { readonly from: Date; readonly to: Date }

/** The instants that a span means to an organization, and its time zone. */
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

/** Whether a span ends before it begins. Pure. */
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
    en: 'leaves too many rows for one answer: choose a shorter span, days instead of hours, or CSV',
    ru: 'даёт слишком много строк для одного ответа: выберите меньший промежуток, дни вместо часов или CSV',
  },
} as const

export type SpanMistake = keyof typeof messages

/** What is told of a span that cannot be answered. Pure. */
export function spanProblem(mistake: SpanMistake, path: 'from' | 'to', locale: Locale): Problem {
  return {
    code: 'validation_failed',
    errors: [{ path, code: `span_${mistake}`, message: messages[mistake][locale] }],
  }
}
