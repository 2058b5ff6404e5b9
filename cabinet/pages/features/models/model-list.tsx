import { memo, useState } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { EmptyState } from '../../kit/loaded.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { modelWords } from './messages.ts'
import { type Model, pageOfModel } from './model.ts'
import { NextPrice, Price } from './model-prices.tsx'

/** However long the catalog is, only a screenful is rendered at a time. */
const rowsPerStep = 30

type Props = { readonly models: readonly Model[]; readonly onReset: () => void }

/** The matching models, one screenful after another. */
export const ModelList = memo(function ModelList({ models, onReset }: Props) {
  const words = useWords(modelWords)
  const columns = useColumns()
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

function useColumns(): readonly Column<Model>[] {
  const words = useWords(modelWords)
  const count = new Intl.NumberFormat(useLanguage())
  return [
    { id: 'model', head: words.model, cell: (model) => <ModelName model={model} /> },
    {
      id: 'context',
      head: words.context,
      isNumber: true,
      cell: ({ context_length }) => (context_length === null ? '—' : count.format(context_length)),
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

function ModelName({ model: { id, name, description, type } }: { readonly model: Model }) {
  const words = useWords(modelWords)
  return (
    <span className="grid gap-0.5">
      <span className="flex flex-wrap items-center gap-x-2">
        <span className="text-base">
          <TextLink href={pageOfModel(id)}>{name}</TextLink>
        </span>
        {type === 'embedding' && <Badge>{words.kinds.embedding}</Badge>}
      </span>
      <span className="flex items-center gap-1 text-muted">
        <code className="min-w-0 font-mono text-xs font-normal break-all">{id}</code>
        <CopyButton isCompact text={id} label={words.copyId(id)} />
      </span>
      {description !== '' && (
        <span className="line-clamp-2 max-w-prose font-normal text-muted">{description}</span>
      )}
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
  return (
    <span className="grid justify-items-end gap-0.5">
      <Price model={model} tokenClass={tokenClass} />
      <NextPrice model={model} tokenClass={tokenClass} />
    </span>
  )
}
