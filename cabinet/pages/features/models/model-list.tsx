import { memo, useState } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { EmptyState } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import { comparedMax, isPricedPerRequest, type Model } from './model.ts'
import { cabinetModels, pageOfModel } from './model-path.ts'
import { NextPrice, Price } from './model-prices.tsx'

/** However long the catalog is, only a screenful is rendered at a time. */
const rowsPerStep = 30

type Comparing = {
  /** Models chosen for a comparison. */
  readonly compared: readonly string[]
  readonly onCompare: (id: string, how: 'add' | 'remove') => void
}

type Props = Comparing & { readonly models: readonly Model[]; readonly onReset: () => void }

/** The matching models, one screenful after another. */
export const ModelList = memo(function ModelList({ models, compared, onCompare, onReset }: Props) {
  const words = useWords(modelWords)
  const columns = useColumns({ compared, onCompare })
  // A new result begins at the top; rows in both results are kept.
  const [more, setMore] = useState({ of: models, count: rowsPerStep })
  const shown = more.of === models ? more.count : rowsPerStep
  return (
    <div className="overflow-clip rounded-lg border border-line bg-surface shadow-raised">
      {models.length === 0 ? (
        <EmptyState text={words.nothingFound} action={<Button onClick={onReset}>{words.reset}</Button>} />
      ) : (
        <Table
          caption={words.listCaption}
          columns={columns}
          rows={models.slice(0, shown)}
          keyOf={({ id }) => id}
          isDense
        />
      )}
      {models.length > shown && (
        <div className="flex justify-center border-t border-line p-4">
          <Button onClick={() => setMore({ of: models, count: shown + rowsPerStep })}>
            {words.showMore(models.length - shown)}
          </Button>
        </div>
      )}
    </div>
  )
})

function useColumns(comparing: Comparing): readonly Column<Model>[] {
  const words = useWords(modelWords)
  const { count } = formatsOf(useLanguage())
  return [
    { id: 'model', head: words.model, cell: (model) => <ModelName model={model} {...comparing} /> },
    {
      id: 'context',
      head: words.context,
      isNumber: true,
      cell: ({ context_length }) => (context_length === null ? '—' : count.format(context_length)),
    },
    {
      id: 'output-tokens',
      head: words.output,
      isNumber: true,
      cell: ({ max_output_tokens }) => (max_output_tokens === null ? '—' : count.format(max_output_tokens)),
    },
    {
      id: 'input',
      head: words.inputPrice,
      isNumber: true,
      cell: (model) => <PriceCell model={model} tokenClass="input" />,
    },
    {
      id: 'output',
      head: words.outputPrice,
      isNumber: true,
      cell: (model) => (model.type === 'embedding' ? '—' : <PriceCell model={model} tokenClass="output" />),
    },
  ]
}

function ModelName({
  model: { id, name, type },
  compared,
  onCompare,
}: { readonly model: Model } & Comparing) {
  const words = useWords(modelWords)
  const isCompared = compared.includes(id)
  return (
    <span className="flex min-w-0 items-center gap-x-2">
      <input
        type="checkbox"
        aria-label={words.compareModel(name)}
        title={words.compareModel(name)}
        className="size-6 shrink-0 accent-accent"
        checked={isCompared}
        disabled={!isCompared && compared.length >= comparedMax}
        onChange={({ target }) => onCompare(id, target.checked ? 'add' : 'remove')}
      />
      <span className="line-clamp-1 min-w-0 break-all">
        <TextLink href={pageOfModel(cabinetModels, id)}>{name}</TextLink>
      </span>
      {type === 'embedding' && <Badge>{words.kinds.embedding}</Badge>}
      {name !== id && (
        <code className="line-clamp-1 min-w-0 font-mono text-xs font-normal break-all text-muted">{id}</code>
      )}
      <CopyButton isCompact size="small" text={id} label={words.copyId(id)} />
    </span>
  )
}

function PriceCell({
  model,
  tokenClass,
}: {
  readonly model: Model
  readonly tokenClass: 'input' | 'output'
}) {
  const words = useWords(modelWords)
  const isPerRequest = tokenClass === 'input' && isPricedPerRequest([model.pricing])
  return (
    <span className="grid justify-items-end gap-0.5">
      <Price model={model} tokenClass={tokenClass} />
      {isPerRequest && (
        <span className="text-xs text-muted">
          {words.priceNames.per_request}: <Money rubles={model.pricing.per_request} isExact />
        </span>
      )}
      <NextPrice model={model} tokenClass={tokenClass} />
    </span>
  )
}
