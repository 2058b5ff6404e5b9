import { administrationRoutes } from '../../administration-routes.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { DateTime } from '../../kit/date-time.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { FilterBar } from '../../kit/filter-fields.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { type Answer, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { moneyWords } from './messages.ts'

type Notification = Answer<'GET /admin/webhooks'>['data'][number]

/** Notifications of the payment provider, and what came of each. */
export function WebhooksPage() {
  const words = useWords(moneyWords)
  const title = administrationRoutes['/app/webhooks'].title[useLanguage()]
  const [filters, setFilters] = useAddressFilters(['state'])
  const state = filters.state === 'waiting' ? 'waiting' : 'all'
  const list = useReadList('/admin/webhooks', { query: { state } })
  const columns: readonly Column<Notification>[] = [
    { id: 'event', head: words.event, cell: ({ event }) => <code>{event}</code> },
    {
      id: 'object',
      head: words.object,
      cell: ({ object_id }) => <span className="font-mono text-xs break-all">{object_id}</span>,
    },
    { id: 'received', head: words.received, cell: ({ received_at }) => <DateTime at={received_at} /> },
    { id: 'outcome', head: words.outcome, cell: ({ outcome }) => outcome ?? words.waiting },
    { id: 'tries', head: words.tries, isNumber: true, cell: ({ tries }) => tries },
  ]
  return (
    <>
      <PageHead title={title} lead={words.webhooksLead} />
      <Section title={title} isFlush>
        <FilterBar setCount={filters.state === undefined ? 0 : 1}>
          <SelectField
            name="state"
            label={words.show}
            value={state}
            onChange={({ target }) =>
              setFilters({ state: target.value === 'all' ? undefined : target.value })
            }
          >
            <option value="all">{words.all}</option>
            <option value="waiting">{words.waiting}</option>
          </SelectField>
        </FilterBar>
        <ListTable
          list={list}
          expectedCount={8}
          empty={words.empty}
          caption={title}
          columns={columns}
          keyOf={({ id }) => id}
        />
      </Section>
    </>
  )
}
