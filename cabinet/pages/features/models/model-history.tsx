import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Fact } from './fact.tsx'
import { modelWords } from './messages.ts'
import { isPricedPerRequest, type Model, type ModelDetails, priceOf, shownClasses } from './model.ts'
import { measuredFacts } from './model-facts.ts'

type Version = ModelDetails['prices'][number]

/** What the model has cost, costs and will cost; nothing if its price never changed. */
export function PriceHistory({ model, details }: { readonly model: Model; readonly details: ModelDetails }) {
  const words = useWords(modelWords)
  const { prices } = details
  if (prices.length < 2) return null
  const pricings = prices.map(({ pricing }) => pricing)
  const columns: readonly Column<Version>[] = [
    { id: 'from', head: words.validFrom, cell: ({ valid_from }) => <DateTime at={valid_from} /> },
    { id: 'state', head: words.priceState, cell: ({ state }) => words.priceStates[state] },
    ...shownClasses(model.type, pricings).map(
      (each): Column<Version> => ({
        id: each,
        head: words.priceNames[each],
        isNumber: true,
        cell: ({ pricing }) => <Money rubles={priceOf(pricing, each)} isExact />,
      }),
    ),
    ...(isPricedPerRequest(pricings) ? [requestColumn(words)] : []),
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

const tones = { operational: 'success', degraded: 'warning', failing: 'danger', no_data: 'neutral' } as const

/** How the model works now, and how it worked in the last 7 days. */
export function Measurements({ details }: { readonly details: ModelDetails }) {
  const words = useWords(modelWords)
  const language = useLanguage()
  const { status } = details
  return (
    <Section
      title={words.measurements}
      lead={words.measurementsLead}
      actions={<Badge tone={tones[status]}>{words.statuses[status]}</Badge>}
    >
      <dl className="grid">
        {measuredFacts(details, language).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
    </Section>
  )
}
