import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { FilterBar } from '../../kit/filter-fields.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { moneyWords } from './messages.ts'

type Difference = Answer<'GET /admin/payment-differences'>['data'][number]

const states = ['open', 'resolved', 'all'] as const

/** What the payment provider has and the ledger does not, or the reverse. */
export function DifferencesPage() {
  const words = useWords(moneyWords)
  const title = administrationRoutes['/app/differences'].title[useLanguage()]
  const [chosen, setChosen] = useState<Difference>()
  const [filters, setFilters] = useAddressFilters(['state'])
  const state = states.find((one) => one === filters.state) ?? 'open'
  const list = useReadList('/admin/payment-differences', { query: { state } })
  const columns: readonly Column<Difference>[] = [
    { id: 'kind', head: words.kind, cell: ({ kind }) => <code>{kind}</code> },
    {
      id: 'object',
      head: words.object,
      cell: ({ provider_id }) => <span className="font-mono text-xs break-all">{provider_id}</span>,
    },
    { id: 'ours', head: words.ours, cell: ({ expected }) => expected },
    { id: 'theirs', head: words.theirs, cell: ({ found }) => found },
    { id: 'time', head: words.time, cell: ({ noticed_at }) => <DateTime at={noticed_at} /> },
    {
      id: 'action',
      head: words.status,
      cell: (difference) =>
        difference.resolved_at === null ? (
          <Button
            size="small"
            aria-label={words.resolveOf(difference.provider_id)}
            onClick={() => setChosen(difference)}
          >
            {words.resolve}
          </Button>
        ) : (
          <>
            <Badge tone="success">{words.resolved}</Badge> <DateTime at={difference.resolved_at} />
          </>
        ),
    },
  ]
  return (
    <>
      <PageHead title={title} lead={words.differencesLead} />
      <Section title={title} isFlush>
        <FilterBar setCount={filters.state === undefined ? 0 : 1}>
          <SelectField
            name="state"
            label={words.show}
            value={state}
            onChange={({ target }) => setFilters({ state: target.value })}
          >
            {states.map((one) => (
              <option key={one} value={one}>
                {words[one]}
              </option>
            ))}
          </SelectField>
        </FilterBar>
        <ListTable
          list={list}
          expectedCount={4}
          empty={words.empty}
          caption={title}
          columns={columns}
          keyOf={({ id }) => id}
        />
      </Section>
      {chosen !== undefined && (
        <ReasonDialog
          title={words.resolve}
          lead={words.resolveLead}
          action={words.resolve}
          send={(values) =>
            call('POST /admin/payment-differences/:difference_id/resolve', {
              params: { difference_id: chosen.id },
              body: { reason: textOf(values, 'reason') },
            })
          }
          onDone={() => void readAgain('/admin/payment-differences')}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}
