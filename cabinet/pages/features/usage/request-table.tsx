import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, type Tone } from '../../kit/badge.tsx'
import { formatTime, nameOfZone } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { type Column, type RowGroup, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { digitsOf } from '../../money/rubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { dayOf, formatDay } from '../../time/days.ts'
import { reasonOf } from '../keys/refusal-facts.ts'
import { refusalWords } from '../keys/refusal-messages.ts'
import { usageWords } from './messages.ts'
import { tokensPerSecond, useDuration } from './receipt-words.ts'
import type { ActivityRow } from './request-filters.ts'

const tones: Readonly<Record<NonNullable<ActivityRow['outcome']>, Tone>> = {
  completed: 'success',
  refused_upstream: 'warning',
  failed: 'danger',
  client_disconnected: 'neutral',
  upstream_disconnected: 'warning',
  unsettled: 'neutral',
  hold_expired: 'warning',
  not_started: 'neutral',
}

export function OutcomeBadge({ outcome }: { readonly outcome: NonNullable<ActivityRow['outcome']> }) {
  const words = useWords(usageWords)
  return <Badge tone={tones[outcome]}>{words.outcomes[outcome]}</Badge>
}

/** One row per request, under the heading of its day; its time links to the receipt or the rejection. */
export function RequestTable({
  rows,
  isOfOneKey = false,
}: {
  readonly rows: readonly ActivityRow[]
  /** Where the page names the key. */
  readonly isOfOneKey?: boolean
}) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const digits = digitsOf(rows.map(({ cost_rub }) => cost_rub ?? '0'))
  const columns: readonly Column<ActivityRow>[] = [
    { id: 'created_at', head: words.admitted, line: 1, cell: (row) => <Time {...row} /> },
    { id: 'model', head: words.model, line: 1, cell: (row) => <Model {...row} /> },
    { id: 'outcome', head: words.outcome, line: 2, cell: (row) => <Result {...row} /> },
    { id: 'key', head: words.key, line: 2, cell: ({ api_key_name }) => <Key name={api_key_name} /> },
    { id: 'tokens', head: words.tokens, isNumber: true, line: null, cell: (row) => Tokens(row) },
    { id: 'ms', head: words.duration, isNumber: true, line: null, cell: (row) => Duration(row) },
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      line: 1,
      cell: ({ cost_rub }) => cost_rub && <Money rubles={cost_rub} digits={digits} />,
    },
  ]
  return (
    <Table
      caption={pageRoutes['/app/requests'].title[language]}
      columns={isOfOneKey ? columns.filter(({ id }) => id !== 'key') : columns}
      rows={rows}
      keyOf={({ id }) => id}
      groupOf={useDayGroup()}
    />
  )
}

/** The day of a row in the organization's zone. */
function useDayGroup(): (row: ActivityRow) => RowGroup {
  const language = useLanguage()
  const timeZone = useTimeZone()
  return ({ created_at }) => {
    const day = dayOf(created_at, timeZone)
    return {
      id: day,
      heading: `${formatDay(day, language, true)}, ${nameOfZone(timeZone, language, created_at)}`,
    }
  }
}

function Time({ id, created_at }: ActivityRow) {
  const language = useLanguage()
  const timeZone = useTimeZone()
  const clock = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone,
    timeStyle: 'medium',
  })
  return (
    <TextLink href={`/app/requests/${id}`}>
      <time
        dateTime={created_at}
        title={formatTime(created_at, language, timeZone, 'both')}
        className="whitespace-nowrap tabular-nums"
      >
        {clock.format(new Date(created_at))}
      </time>
    </TextLink>
  )
}

function Model({ model, provider }: ActivityRow) {
  const words = useWords(usageWords)
  return (
    <>
      <span className="break-all">{model ?? words.noModel}</span>
      {provider !== null && <Second>{provider}</Second>}
    </>
  )
}

/** Narrow screens show the status and the code only of a rejection: it has no outcome. */
function Result({ outcome, status, error_code, scope, attempts }: ActivityRow) {
  const words = useWords(usageWords)
  const refusals = useWords(refusalWords)
  const facts = [
    ...(status === 200 ? [] : [[String(status), error_code].filter(Boolean).join(' ')]),
    ...(attempts !== null && attempts > 1 ? [words.attemptCount(attempts)] : []),
  ]
  return (
    <>
      {outcome === null ? (
        <Badge tone="danger">{words.rejectedOutcome}</Badge>
      ) : (
        <OutcomeBadge outcome={outcome} />
      )}
      {outcome === null && error_code !== null && (
        <Second>{reasonOf({ code: error_code, scope }, refusals)}</Second>
      )}
      {facts.length > 0 &&
        (outcome === null ? (
          <span className="block text-xs text-muted @max-3xl:ms-2 @max-3xl:inline">{facts.join(' · ')}</span>
        ) : (
          <Second>{facts.join(' · ')}</Second>
        ))}
    </>
  )
}

/** The tokens in both directions, and how many of them the provider had in its cache. */
function Tokens({ tokens }: ActivityRow) {
  if (tokens === null) return null
  return <TokenCounts {...tokens} />
}

function TokenCounts({
  input,
  cached_input,
  cache_write,
  output,
  reasoning,
}: NonNullable<ActivityRow['tokens']>) {
  const words = useWords(usageWords)
  const { format } = new Intl.NumberFormat(useLanguage())
  return (
    <>
      {words.tokensInOut(format(input + cached_input + cache_write), format(output + reasoning))}
      {cached_input > 0 && <Second>{words.fromCache(format(cached_input))}</Second>}
    </>
  )
}

/** The whole time, the time to the first token, and the speed after it. */
function Duration(row: ActivityRow) {
  if (row.total_ms === null) return null
  return <Timings {...row} total_ms={row.total_ms} />
}

function Timings(row: ActivityRow & { readonly total_ms: number }) {
  const words = useWords(usageWords)
  const durationOf = useDuration()
  const { format } = new Intl.NumberFormat(useLanguage(), { maximumFractionDigits: 0 })
  const speed = tokensPerSecond(row)
  const facts = [
    ...(row.first_content_ms === null ? [] : [words.firstAfter(durationOf(row.first_content_ms))]),
    ...(speed === undefined ? [] : [words.perSecond(format(speed))]),
  ]
  return (
    <>
      {durationOf(row.total_ms)}
      {facts.length > 0 && <Second>{facts.join(' · ')}</Second>}
    </>
  )
}

/** A muted second line of a cell; two-line rows of narrow screens have no room for it. */
function Second({ children }: { readonly children: string }) {
  return <span className="block text-xs text-muted @max-3xl:hidden">{children}</span>
}

function Key({ name }: { readonly name: string | null }) {
  const words = useWords(usageWords)
  return name === null ? (
    <span className="text-muted">{words.noKey}</span>
  ) : (
    <bdi className="break-all">{name}</bdi>
  )
}
