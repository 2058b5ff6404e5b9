import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { type Answer, useRead, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { addressOfModel, type Model, NameFilter, Owner, Troubles } from './catalog-parts.tsx'
import { catalogAdminWords } from './messages.ts'
import { ModelSpecDialog } from './spec-dialog.tsx'

/** Every model, its price and health, and which revision of the catalog each gateway serves. */
export function ModelsPage() {
  const words = useWords(catalogAdminWords)
  const title = administrationRoutes['/app/models'].title[useLanguage()]
  const [isCreating, setCreating] = useState(false)
  const [filters, setFilters] = useAddressFilters(['name'])
  const list = useReadList('/admin/models', { query: filters })
  const columns: readonly Column<Model>[] = [
    {
      id: 'model',
      head: words.model,
      cell: ({ model }) => (
        <TextLink href={addressOfModel(model)}>
          <span className="break-all">{model}</span>
        </TextLink>
      ),
    },
    { id: 'input', head: words.input, isNumber: true, cell: (model) => <PriceOf {...model} part="input" /> },
    {
      id: 'output',
      head: words.output,
      isNumber: true,
      cell: (model) => (model.free ? '' : <PriceOf {...model} part="output" />),
    },
    {
      id: 'next',
      head: words.nextPrice,
      cell: ({ next_pricing_from }) => next_pricing_from !== null && <DateTime at={next_pricing_from} />,
    },
    { id: 'health', head: words.health, cell: (model) => <Health {...model} /> },
    { id: 'owner', head: words.owner, cell: (model) => <Owner {...model} /> },
  ]
  return (
    <>
      <PageHead
        title={title}
        lead={words.modelsLead}
        actions={
          <Button variant="primary" onClick={() => setCreating(true)}>
            {words.createModel}
          </Button>
        }
      />
      {isCreating && <ModelSpecDialog onClose={() => setCreating(false)} />}
      <div className="grid gap-6">
        <Section title={title} isFlush>
          <NameFilter value={filters.name} onChange={(name) => setFilters({ name })} />
          <ListTable
            list={list}
            expectedCount={10}
            empty={words.none}
            caption={title}
            columns={columns}
            keyOf={({ model }) => model}
          />
        </Section>
        <RevisionSection />
      </div>
    </>
  )
}

function PriceOf({ free, pricing, part }: Model & { readonly part: 'input' | 'output' }) {
  const words = useWords(catalogAdminWords)
  if (free) return words.free
  return pricing === null ? (
    <Badge tone="warning">{words.noPrice}</Badge>
  ) : (
    <Money rubles={pricing[part]} isExact />
  )
}

/** The backends that some gateway cannot use; one that works is enough to serve. */
function Health({ backends }: Model) {
  const words = useWords(catalogAdminWords)
  if (backends.some(({ provider_exists }) => !provider_exists))
    return <Badge tone="danger">{words.noProvider}</Badge>
  return <Troubles troubles={backends.flatMap(({ troubles }) => troubles)} />
}

type Gateway = Answer<'GET /admin/catalog-state'>['gateways'][number]

function RevisionSection() {
  const words = useWords(catalogAdminWords)
  const state = useRead('/admin/catalog-state')
  const columns: readonly Column<Gateway>[] = [
    { id: 'gateway', head: words.gateway, cell: ({ id }) => <span className="break-all">{id}</span> },
    { id: 'revision', head: words.served, isNumber: true, cell: ({ revision }) => revision },
    {
      id: 'state',
      head: words.health,
      cell: ({ is_current }) => (
        <Badge tone={is_current ? 'success' : 'warning'}>{is_current ? words.current : words.behind}</Badge>
      ),
    },
  ]
  return (
    <Loaded query={state} skeleton={<SkeletonRows count={2} />}>
      {({ revision, gateways }) => (
        <Section title={words.revision} lead={words.revisionNow(revision)} isFlush>
          {gateways.length === 0 ? (
            <EmptyState text={words.noGateways} />
          ) : (
            <Table caption={words.revision} columns={columns} rows={gateways} keyOf={({ id }) => id} />
          )}
        </Section>
      )}
    </Loaded>
  )
}
