import { useLanguage, useWords } from '../../i18n/language.ts'
import { DateTime, formatTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { defaultTimeZone } from '../../time/days.ts'
import { modelWords } from './messages.ts'
import {
  isPricedPerRequest,
  type Model,
  type Pricing,
  priceOf,
  shownClasses,
  type TokenClass,
} from './model.ts'

type Of = { readonly model: Model; readonly tokenClass: TokenClass }

/** The present price of 1M tokens of a class. */
export function Price({ model: { free, pricing }, tokenClass }: Of) {
  const words = useWords(modelWords)
  return free ? words.free : <Money rubles={priceOf(pricing, tokenClass)} isExact />
}

/** The next price and its date; empty if the price does not change. */
export function NextPrice({ model: { pricing, next_pricing, next_pricing_from }, tokenClass }: Of) {
  const words = useWords(modelWords)
  const language = useLanguage()
  if (next_pricing === null || next_pricing_from === null) return null
  const next = priceOf(next_pricing, tokenClass)
  if (next === priceOf(pricing, tokenClass)) return null
  const from = formatTime(next_pricing_from, language, defaultTimeZone, 'date')
  return (
    <span className="text-xs whitespace-normal text-muted">
      {words.nextPrice(from, formatRoubles(next, language, 'exact'))}
    </span>
  )
}

type Row = { readonly id: keyof Pricing; readonly now: string; readonly next: string | undefined }

/** All prices of a model, including scheduled ones. */
export function PricesSection({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const { next_pricing_from } = model
  const columns: readonly Column<Row>[] = [
    { id: 'class', head: words.whatFor, cell: ({ id }) => words.priceNames[id] },
    { id: 'now', head: words.priceNow, isNumber: true, cell: ({ now }) => <Money rubles={now} isExact /> },
    ...(next_pricing_from === null
      ? []
      : [
          {
            id: 'next',
            head: words.priceFrom,
            isNumber: true,
            cell: ({ next }: Row) => next !== undefined && <Money rubles={next} isExact />,
          },
        ]),
  ]
  return (
    <Section title={words.prices} lead={words.pricesLead} isFlush>
      {model.free ? (
        <p className="px-5 pb-5">{words.freeModel}</p>
      ) : (
        <>
          <Table caption={words.prices} columns={columns} rows={rowsOf(model)} keyOf={({ id }) => id} />
          {next_pricing_from !== null && (
            <p className="border-t border-line px-5 py-3 text-sm text-muted">
              {words.changesAt} <DateTime at={next_pricing_from} />
            </p>
          )}
        </>
      )}
    </Section>
  )
}

function rowsOf({ type, pricing, next_pricing }: Model): readonly Row[] {
  const pricings = next_pricing === null ? [pricing] : [pricing, next_pricing]
  const classes = shownClasses(type, pricings).map((id) => ({
    id,
    now: priceOf(pricing, id),
    next: next_pricing === null ? undefined : priceOf(next_pricing, id),
  }))
  const perRequest = { id: 'per_request', now: pricing.per_request, next: next_pricing?.per_request } as const
  return isPricedPerRequest(pricings) ? [...classes, perRequest] : classes
}
