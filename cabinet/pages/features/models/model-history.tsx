import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Fact } from './fact.tsx'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import {
  isPricedPerRequest,
  type Model,
  type ModelDetails,
  priceOf,
  type TokenClass,
  tokenClasses,
} from './model.ts'

type Version = ModelDetails['prices'][number]

/** What the model has cost, costs and will cost; nothing if its price never changed. */
export function PriceHistory({ model, details }: { readonly model: Model; readonly details: ModelDetails }) {
  const words = useWords(modelWords)
  const { prices } = details
  if (prices.length < 2) return null
  const shown = tokenClasses.filter((each) => isShown(model, prices, each))
  const columns: readonly Column<Version>[] = [
    { id: 'from', head: words.validFrom, cell: ({ valid_from }) => <DateTime at={valid_from} /> },
    { id: 'state', head: words.priceState, cell: ({ state }) => words.priceStates[state] },
    ...shown.map(
      (each): Column<Version> => ({
        id: each,
        head: words.priceNames[each],
        isNumber: true,
        cell: ({ pricing }) => <Money rubles={priceOf(pricing, each)} isExact />,
      }),
    ),
    ...(isPricedPerRequest(prices.map(({ pricing }) => pricing)) ? [requestColumn(words)] : []),
  ]
  return (
    <Section title={words.history} lead={words.pricesLead} isFlush>
      <Table caption={words.history} columns={columns} rows={prices} keyOf={({ valid_from }) => valid_from} />
    </Section>
  )
}

const requestColumn = (words: typeof modelWords.ru): Column<Version> => ({
  id: 'per_request',
  head: words.priceNames.per_request,
  isNumber: true,
  cell: ({ pricing }) => <Money rubles={pricing.per_request} isExact />,
})

/** Classes that had their own price at some time. */
function isShown(model: Model, prices: readonly Version[], each: TokenClass): boolean {
  if (each === 'input') return true
  if (each === 'output') return model.type === 'chat'
  return prices.some(({ pricing }) => pricing[each] !== null)
}

const tones = { operational: 'success', degraded: 'warning', failing: 'danger', no_data: 'neutral' } as const

/** How the model works now, and how it worked in the last 7 days. */
export function Measurements({ details }: { readonly details: ModelDetails }) {
  const words = useWords(modelWords)
  const language = useLanguage()
  const { status, last_week } = details
  const { seconds, percent } = formatsOf(language)
  const times = (of: typeof last_week.duration_ms) =>
    of === null
      ? words.noData
      : words.percentiles(
          seconds.format(of.p50 / 1000),
          of.p95 === null ? undefined : seconds.format(of.p95 / 1000),
        )
  return (
    <Section
      title={words.measurements}
      lead={words.measurementsLead}
      actions={<Badge tone={tones[status]}>{words.statuses[status]}</Badge>}
    >
      <dl className="grid">
        <Fact name={words.firstToken}>{times(last_week.first_token_ms)}</Fact>
        <Fact name={words.duration}>{times(last_week.duration_ms)}</Fact>
        <Fact name={words.failedShare}>
          {last_week.failed_share === null ? words.noData : percent.format(last_week.failed_share)}
        </Fact>
      </dl>
    </Section>
  )
}
