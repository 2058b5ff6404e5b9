import type { ReactNode } from 'react'
import { useSearch } from 'wouter/use-browser-location'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { modelWords } from './messages.ts'
import { isPricedPerRequest, type Model, readCompared, tokenClasses } from './model.ts'
import { factNames, factsOf } from './model-facts.ts'
import { cabinetModels, pageOfModel } from './model-path.ts'
import { Price } from './model-prices.tsx'

/** Up to four models next to each other. */
export function ComparePage() {
  const words = useWords(modelWords)
  const language = useLanguage()
  const ids = readCompared(useSearch())
  const models = useRead('/models/models-with-pricing')
  return (
    <>
      <p className="mb-3 text-sm">
        <TextLink href={`${cabinetModels}?${new URLSearchParams(ids.map((id) => ['model', id]))}`}>
          {words.allModels}
        </TextLink>
      </p>
      <PageHead title={pageRoutes['/app/models/compare'].title[language]} lead={words.lead} />
      <Loaded query={models} skeleton={<SkeletonRows count={10} />}>
        {({ data }) => <Comparison models={ids.flatMap((id) => data.find((one) => one.id === id) ?? [])} />}
      </Loaded>
    </>
  )
}

const requestRow = (words: typeof modelWords.ru): Row => ({
  id: 'price-per_request',
  name: words.priceNames.per_request,
  cell: ({ pricing }) => <Money rubles={pricing.per_request} isExact />,
})

type Row = { readonly id: string; readonly name: string; readonly cell: (model: Model) => ReactNode }

function Comparison({ models }: { readonly models: readonly Model[] }) {
  const words = useWords(modelWords)
  const language = useLanguage()
  if (models.length === 0)
    return (
      <EmptyState
        text={words.nothingToCompare}
        action={<ButtonLink href={cabinetModels}>{words.openCatalog}</ButtonLink>}
      />
    )
  const rows: readonly Row[] = [
    {
      id: 'page',
      name: words.id,
      cell: ({ id }) => (
        <span className="wrap-anywhere">
          <TextLink href={pageOfModel(cabinetModels, id)}>{id}</TextLink>
        </span>
      ),
    },
    ...factNames.map((name) => ({
      id: name,
      name: words.factNames[name],
      cell: (model: Model) => factsOf(model, language)[name],
    })),
    ...tokenClasses.map((name) => ({
      id: `price-${name}`,
      name: `${words.priceNames[name]}, ${words.perMillion}`,
      cell: (model: Model) =>
        model.type === 'embedding' && (name === 'output' || name === 'reasoning') ? (
          '—'
        ) : (
          <Price model={model} tokenClass={name} />
        ),
    })),
    ...(isPricedPerRequest(models.map(({ pricing }) => pricing)) ? [requestRow(words)] : []),
  ]
  const columns: readonly Column<Row>[] = [
    { id: 'name', head: words.property, cell: ({ name }) => name },
    ...models.map((model) => ({
      id: model.id,
      head: model.name,
      cell: ({ cell }: Row) => cell(model),
    })),
  ]
  return (
    <Section title={words.found(models.length)} isFlush>
      <Table caption={words.comparison} columns={columns} rows={rows} keyOf={({ id }) => id} />
    </Section>
  )
}
