import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, type Tone } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { digitsOf } from '../../money/rubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { usageWords } from './messages.ts'
import { useDuration } from './receipt-words.ts'
import type { RequestRow } from './request-filters.ts'

const tones: Readonly<Record<RequestRow['outcome'], Tone>> = {
  completed: 'success',
  refused_upstream: 'warning',
  failed: 'danger',
  client_disconnected: 'neutral',
  upstream_disconnected: 'warning',
  unsettled: 'neutral',
  hold_expired: 'warning',
  not_started: 'neutral',
}

export function OutcomeBadge({ outcome }: { readonly outcome: RequestRow['outcome'] }) {
  const words = useWords(usageWords)
  return <Badge tone={tones[outcome]}>{words.outcomes[outcome]}</Badge>
}

/** One row per request; its time links to the receipt. */
export function RequestTable({ rows }: { readonly rows: readonly RequestRow[] }) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const durationOf = useDuration()
  const { format } = new Intl.NumberFormat(language)
  const digits = digitsOf(rows.map(({ cost_rub }) => cost_rub))
  const columns: readonly Column<RequestRow>[] = [
    {
      id: 'created_at',
      head: words.admitted,
      cell: ({ id, created_at }) => (
        <TextLink href={`/app/requests/${id}`}>
          <DateTime at={created_at} timeZone={timeZone} />
        </TextLink>
      ),
    },
    {
      id: 'model',
      head: words.model,
      cell: ({ model_ran, model_asked }) => <span className="break-all">{model_ran ?? model_asked}</span>,
    },
    { id: 'key', head: words.key, cell: ({ api_key_name }) => <Key name={api_key_name} /> },
    { id: 'outcome', head: words.outcome, cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
    {
      id: 'tokens',
      head: words.tokens,
      isNumber: true,
      cell: ({ tokens: { input, cached_input, cache_write, output, reasoning } }) =>
        words.tokensInOut(format(input + cached_input + cache_write), format(output + reasoning)),
    },
    { id: 'ms', head: words.duration, isNumber: true, cell: ({ total_ms }) => durationOf(total_ms) },
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      cell: ({ cost_rub }) => <Money rubles={cost_rub} digits={digits} />,
    },
  ]
  return (
    <Table
      caption={pageRoutes['/app/requests'].title[language]}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
    />
  )
}

function Key({ name }: { readonly name: string | null }) {
  const words = useWords(usageWords)
  return name === null ? (
    <span className="text-muted">{words.noKey}</span>
  ) : (
    <bdi className="break-all">{name}</bdi>
  )
}
