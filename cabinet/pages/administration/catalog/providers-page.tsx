import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Button } from '../../kit/button.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { addressOfProvider, NameFilter, Owner, type Provider } from './catalog-parts.tsx'
import { catalogAdminWords } from './messages.ts'
import { ProviderHealth } from './provider-page.tsx'
import { ProviderSpecDialog } from './spec-dialog.tsx'

/** Every provider, and whether gateways reach it. */
export function ProvidersPage() {
  const words = useWords(catalogAdminWords)
  const title = administrationRoutes['/app/providers'].title[useLanguage()]
  const [isCreating, setCreating] = useState(false)
  const [filters, setFilters] = useAddressFilters(['name'])
  const list = useReadList('/admin/providers', { query: filters })
  const columns: readonly Column<Provider>[] = [
    {
      id: 'name',
      head: words.provider,
      cell: ({ name }) => (
        <TextLink href={addressOfProvider(name)}>
          <span className="break-all">{name}</span>
        </TextLink>
      ),
    },
    { id: 'api', head: words.api, cell: ({ api }) => api },
    {
      id: 'address',
      head: words.address,
      cell: ({ base_url }) => <span className="break-all">{base_url}</span>,
    },
    {
      id: 'credential',
      head: words.credential,
      cell: ({ has_credential }) => (has_credential ? words.stored : words.absent),
    },
    { id: 'models', head: words.models, isNumber: true, cell: ({ model_count }) => model_count },
    { id: 'health', head: words.health, cell: (provider) => <ProviderHealth {...provider} /> },
    { id: 'owner', head: words.owner, cell: (provider) => <Owner {...provider} /> },
  ]
  return (
    <>
      <PageHead
        title={title}
        lead={words.providersLead}
        actions={
          <Button variant="primary" onClick={() => setCreating(true)}>
            {words.createProvider}
          </Button>
        }
      />
      {isCreating && <ProviderSpecDialog onClose={() => setCreating(false)} />}
      <Section title={title} isFlush>
        <NameFilter value={filters.name} onChange={(name) => setFilters({ name })} />
        <ListTable
          list={list}
          expectedCount={5}
          empty={words.none}
          caption={title}
          columns={columns}
          keyOf={({ name }) => name}
        />
      </Section>
    </>
  )
}
