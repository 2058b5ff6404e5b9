import { administrationRoutes } from '../../administration-routes.ts'
import { addressOf } from '../../api/call.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { DateTime } from '../../kit/date-time.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { DayFilter, FilterBar, TextFilter } from '../../kit/filter-fields.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { type Answer, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { auditWords } from './messages.ts'

type Entry = Answer<'GET /admin/audit'>['data'][number]

const filterNames = ['organization_id', 'actor_id', 'action', 'session_id', 'address', 'from', 'to'] as const

type Filters = ReturnType<typeof useAddressFilters<(typeof filterNames)[number]>>

/** The audit log, newest first. */
export function AuditPage() {
  const words = useWords(auditWords)
  const title = administrationRoutes['/app/audit'].title[useLanguage()]
  const [filters, setFilters] = useAddressFilters(filterNames)
  const query = {
    ...filters,
    ...(filters.from !== undefined && { from: startOf(filters.from) }),
    ...(filters.to !== undefined && { to: startOf(filters.to) }),
  }
  const list = useReadList('/admin/audit', { query })
  const columns: readonly Column<Entry>[] = [
    { id: 'action', head: words.action, cell: ({ action }) => <code>{action}</code> },
    {
      id: 'actor',
      head: words.actor,
      cell: ({ actor_kind, actor_id }) => (
        <span className="break-all">
          {actor_kind} {actor_id}
        </span>
      ),
    },
    {
      id: 'subject',
      head: words.subject,
      cell: (entry) => <Subject {...entry} />,
    },
    { id: 'change', head: words.change, cell: ({ before, after }) => changeOf(before, after) },
    { id: 'reason', head: words.reason, cell: ({ reason }) => reason },
    { id: 'place', head: words.place, cell: (entry) => <Place {...entry} /> },
    { id: 'time', head: words.time, cell: ({ at }) => <DateTime at={at} /> },
  ]
  return (
    <>
      <PageHead
        title={title}
        lead={words.lead}
        actions={<DownloadLink href={addressOf('/admin/audit.csv', { query })}>{words.csv}</DownloadLink>}
      />
      <Section title={title} isFlush>
        <AuditFilters filters={filters} setFilters={setFilters} />
        <ListTable
          list={list}
          expectedCount={10}
          empty={words.empty}
          caption={title}
          columns={columns}
          keyOf={({ id }) => id}
        />
      </Section>
    </>
  )
}

function AuditFilters({
  filters,
  setFilters,
}: {
  readonly filters: Filters[0]
  readonly setFilters: Filters[1]
}) {
  const words = useWords(auditWords)
  return (
    <FilterBar setCount={Object.keys(filters).length}>
      <TextFilter
        name="action"
        label={words.action}
        value={filters.action}
        onChange={(action) => setFilters({ action })}
      />
      <TextFilter
        name="organization_id"
        label={words.organizationId}
        value={filters.organization_id}
        onChange={(organization_id) => setFilters({ organization_id })}
      />
      <TextFilter
        name="actor_id"
        label={words.actorId}
        value={filters.actor_id}
        onChange={(actor_id) => setFilters({ actor_id })}
      />
      <TextFilter
        name="session_id"
        label={words.session}
        value={filters.session_id}
        onChange={(session_id) => setFilters({ session_id })}
      />
      <TextFilter
        name="address"
        label={words.address}
        value={filters.address}
        onChange={(address) => setFilters({ address })}
      />
      <DayFilter
        name="from"
        label={words.from}
        value={filters.from}
        onChange={(from) => setFilters({ from })}
      />
      <DayFilter name="to" label={words.to} value={filters.to} onChange={(to) => setFilters({ to })} />
    </FilterBar>
  )
}

function Subject({ subject_kind, subject_id, organization_id }: Entry) {
  const text = (
    <span className="break-all">
      {subject_kind} {subject_id}
    </span>
  )
  return organization_id === null ? (
    text
  ) : (
    <TextLink href={`/app/customers/${organization_id}`}>{text}</TextLink>
  )
}

/** The address and the session of the call. Jobs and commands have none. */
function Place({ address, session_id }: Entry) {
  return (
    <span className="font-mono text-xs break-all">
      {address} {session_id}
    </span>
  )
}

/** The values before and after, as stored: never a secret. */
function changeOf(before: unknown, after: unknown) {
  const texts = [before, after].map((value) => (value === null ? '' : JSON.stringify(value)))
  const text = texts.filter((one) => one !== '').join(' → ')
  return text === '' ? '' : <span className="font-mono text-xs break-all">{text}</span>
}

/** A day in Moscow, where the shown times are. */
function startOf(day: string): string {
  return new Date(`${day}T00:00:00+03:00`).toISOString()
}
