import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { formatTime } from '../../kit/date-time.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { addDays } from '../../time/days.ts'
import { reasonOf } from '../keys/refusal-facts.ts'
import { refusalWords } from '../keys/refusal-messages.ts'
import { isCut } from './kept-since.ts'
import { usageWords } from './messages.ts'
import type { UsageFilters } from './usage-filters.ts'

type Days = Pick<UsageFilters, 'from' | 'to'>
type Counts = Answer<'GET /rejection-counts'>

/** Rejections change no data, so there are no hints for them. */
const refetchInterval = 10_000
/** An organization has thousands of keys; the log has the rest. */
const keysShown = 10

/** The rejections of the period that are still kept; `undefined` until they are known, or while they are unavailable. */
export function useRejections({ from, to }: Days): Counts | undefined {
  const query = { from, to: addDays(to, 1) }
  const { data, isPlaceholderData } = useRead('/rejection-counts', { query }, { refetchInterval })
  return data?.live && !isPlaceholderData ? data : undefined
}

/** The address of rejections of these days. Pure. */
export function rejectionsAt(
  days: Days,
  filter: { readonly [Name in 'error_code' | 'key_id']?: string } = {},
) {
  const { from, to } = days
  return `/app/requests?${new URLSearchParams({ from, to, type: 'rejection', ...filter })}`
}

/** Last on the page, so that its arrival moves nothing: rejections by reason and by key. Nothing without rejections. */
export function RejectionsSection({ days }: { readonly days: Days }) {
  const words = useWords(usageWords)
  const reasons = useWords(refusalWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const counts = useRejections(days)
  if (counts === undefined || counts.count === 0) return null
  const { by_code, by_key, since } = counts
  return (
    <Section
      title={words.rejections}
      lead={
        isCut(days.from, since, timeZone)
          ? words.rejectionsSince(formatTime(since, language, timeZone, 'both'))
          : words.rejectionsLead
      }
      actions={<TextLink href={rejectionsAt(days)}>{words.keptRejections(counts.count)}</TextLink>}
    >
      <div className="grid items-start gap-x-8 gap-y-6 md:grid-cols-2">
        <CountList
          title={words.byReason}
          counts={by_code.map(({ code, count }) => ({
            id: code,
            name: reasonOf({ code, scope: null }, reasons),
            href: rejectionsAt(days, { error_code: code }),
            count,
          }))}
        />
        <CountList
          title={words.byKey}
          counts={by_key.slice(0, keysShown).map(({ api_key_id: id, api_key_name, count }) => ({
            id,
            name: api_key_name ?? words.noKey,
            href: rejectionsAt(days, { key_id: id }),
            count,
          }))}
        />
      </div>
    </Section>
  )
}

type Count = { readonly id: string; readonly name: string; readonly href: string; readonly count: number }

function CountList({ title, counts }: { readonly title: string; readonly counts: readonly Count[] }) {
  const { format } = new Intl.NumberFormat(useLanguage())
  return (
    <div className="grid min-w-0 content-start gap-2">
      <h3 className="text-base">{title}</h3>
      <ul className="grid gap-2 text-sm">
        {counts.map(({ id, name, href, count }) => (
          <li key={id} className="flex items-baseline justify-between gap-x-4">
            <span className="min-w-0 wrap-anywhere">
              <TextLink href={href}>
                <bdi>{name}</bdi>
              </TextLink>
            </span>
            <span className="tabular-nums">{format(count)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
