import type { ReactNode } from 'react'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { EmptyState } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles, digitsOf } from '../../money/rubles.ts'
import { usageWords } from './messages.ts'
import { attemptResult, pricedClasses, type Receipt, sumOf, useDuration } from './receipt-words.ts'

type Line = {
  readonly id: string
  readonly name: string
  readonly count: string
  readonly price: ReactNode
  readonly rubles: string
}

/** Tokens by class with their prices, and the total. */
export function Priced({ tokens, price, cost_rub, usage_source, model_ran }: Receipt) {
  const words = useWords(usageWords)
  const { format } = new Intl.NumberFormat(useLanguage())
  if (price === null)
    return (
      <EmptyState
        text={`${words.usageSources[usage_source]} ${model_ran === null ? words.noneRan : words.noPrice}`}
      />
    )
  const classes = pricedClasses(tokens, price)
  const digits = digitsOf([cost_rub, price.per_request, ...classes.map(({ rubles }) => rubles)])
  const isCharged = compareRubles(price.per_request, '0') > 0
  const lines: readonly Line[] = [
    ...classes.map(({ name, count, price: each, rubles }) => ({
      id: name,
      name: words.classes[name],
      count: format(count),
      rubles,
      price: <Money rubles={each} isExact />,
    })),
    ...(isCharged
      ? [{ id: 'request', name: words.perRequest, count: '1', price: '', rubles: price.per_request }]
      : []),
    { id: 'total', name: words.total, count: '', price: '', rubles: cost_rub },
  ]
  const columns: readonly Column<Line>[] = [
    { id: 'name', head: words.tokenClass, cell: ({ name }) => name },
    { id: 'count', head: words.count, isNumber: true, cell: ({ count }) => count },
    { id: 'price', head: words.per1M, isNumber: true, cell: (line) => line.price },
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      cell: ({ id, rubles }) => (
        <span className={id === 'total' ? 'font-semibold' : undefined}>
          <Money rubles={rubles} digits={digits} />
        </span>
      ),
    },
  ]
  return (
    <>
      <Table caption={words.priced} columns={columns} rows={lines} keyOf={({ id }) => id} />
      <p className="border-t border-line px-5 py-3 text-sm text-muted">
        {words.usageSources[usage_source]}
        {compareRubles(sumOf(classes, price.per_request), cost_rub) !== 0 && ` ${words.adjusted}`}
      </p>
    </>
  )
}

/** The parameters and the result of the request. */
export function RequestFacts(receipt: Receipt) {
  const words = useWords(usageWords)
  const durationOf = useDuration()
  const { first_content_ms, total_ms } = receipt.timings
  const { model_asked, model_ran, endpoint, stream, status, error_code, output_limit, dropped_params } =
    receipt
  const name = receipt.api_key_name ?? words.noKey
  const key = useMay('keys.read') ? (
    <TextLink href={`/app/keys/${receipt.api_key_id}`}>{name}</TextLink>
  ) : (
    name
  )
  return (
    <dl className="grid gap-2 text-sm">
      <Fact name={words.key} value={receipt.api_key_name === null ? words.noKey : key} />
      <Fact name={words.asked} value={model_asked} />
      <Fact name={words.ran} value={model_ran ?? words.nothingRan} />
      <Fact
        name={words.endpoint}
        value={`${words.endpoints[endpoint]}, ${stream ? words.streamed : words.plain}`}
      />
      <Fact name={words.status} value={String(status)} />
      {error_code !== null && <Fact name={words.errorCode} value={<code>{error_code}</code>} />}
      {first_content_ms !== null && <Fact name={words.firstContent} value={durationOf(first_content_ms)} />}
      <Fact name={words.totalTime} value={durationOf(total_ms)} />
      {output_limit !== null && <Fact name={words.outputLimit} value={String(output_limit)} />}
      {dropped_params.length > 0 && (
        <Fact
          name={words.dropped}
          value={<code>{dropped_params.join(', ')}</code>}
          note={words.droppedNote}
        />
      )}
    </dl>
  )
}

function Fact({
  name,
  value,
  note,
}: {
  readonly name: string
  readonly value: ReactNode
  readonly note?: string
}) {
  return (
    <div className="flex flex-wrap justify-between gap-x-4">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-all">{value}</dd>
      {note !== undefined && <dd className="basis-full text-muted">{note}</dd>}
    </div>
  )
}

type Attempt = Receipt['attempts'][number] & { readonly id: string }

/** Every call to a provider, in order. */
export function Attempts({ attempts }: Receipt) {
  const words = useWords(usageWords)
  const durationOf = useDuration()
  if (attempts.length === 0) return <EmptyState text={words.noAttempts} />
  const columns: readonly Column<Attempt>[] = [
    { id: 'model', head: words.model, cell: ({ model }) => <span className="break-all">{model}</span> },
    {
      id: 'provider',
      head: words.provider,
      cell: ({ provider, backend }) => (
        <span className="break-all">
          {provider} / {backend}
        </span>
      ),
    },
    {
      id: 'result',
      head: words.result,
      cell: ({ result }) =>
        result === 'answered' ? (
          words.answered
        ) : (
          <>
            <span>{attemptResult(result, words)}</span>
            <code className="block text-xs text-muted">{result}</code>
          </>
        ),
    },
    { id: 'ms', head: words.duration, isNumber: true, cell: ({ ms }) => durationOf(ms) },
  ]
  const rows = attempts.map((attempt, index) => ({ ...attempt, id: String(index) }))
  return <Table caption={words.attempts} columns={columns} rows={rows} keyOf={({ id }) => id} />
}
