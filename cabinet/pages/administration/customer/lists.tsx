import { rowsOf } from '../../api/queries.ts'
import { billingWords } from '../../features/billing/messages.ts'
import { RefusalList } from '../../features/keys/refusal-list.tsx'
import { OutcomeBadge } from '../../features/usage/request-table.tsx'
import { useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { type Answer, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { customerWords } from './messages.ts'

type Props = { readonly organizationId: string }
type Request = Answer<'GET /admin/organizations/:organization_id/requests'>['data'][number]
type Entry = Answer<'GET /admin/organizations/:organization_id/ledger'>['data'][number]

/** Settled requests, newest first, each with a link to its receipt. */
export function RequestsSection({ organizationId }: Props) {
  const words = useWords(customerWords)
  const list = useReadList('/admin/organizations/:organization_id/requests', {
    params: { organization_id: organizationId },
  })
  const columns: readonly Column<Request>[] = [
    {
      id: 'time',
      head: words.request,
      cell: ({ id, created_at }) => (
        <TextLink href={`/app/customers/${organizationId}/requests/${id}`}>
          <DateTime at={created_at} />
        </TextLink>
      ),
    },
    { id: 'key', head: words.key, cell: ({ api_key_name }) => <bdi>{api_key_name}</bdi> },
    { id: 'model', head: words.model, cell: ({ model_ran, model_asked }) => model_ran ?? model_asked },
    { id: 'outcome', head: words.outcome, cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      cell: ({ cost_rub }) => <Money rubles={cost_rub} isExact />,
    },
  ]
  return (
    <ListTable
      list={list}
      expectedCount={8}
      empty={words.empty}
      caption={words.requests}
      columns={columns}
      keyOf={({ id }) => id}
    />
  )
}

/** Ledger entries, newest first. */
export function LedgerSection({ organizationId }: Props) {
  const words = useWords(customerWords)
  const kinds: Readonly<Record<string, string>> = useWords(billingWords).kinds
  const list = useReadList('/admin/organizations/:organization_id/ledger', {
    params: { organization_id: organizationId },
  })
  const columns: readonly Column<Entry>[] = [
    { id: 'entry', head: words.entry, cell: ({ kind }) => kinds[kind] ?? kind },
    {
      id: 'reference',
      head: words.reference,
      cell: ({ ref_id }) => <span className="font-mono text-xs break-all">{ref_id}</span>,
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => <Money rubles={amount_rub} isExact />,
    },
    {
      id: 'after',
      head: words.balanceAfter,
      isNumber: true,
      cell: ({ balance_after_rub }) => <Money rubles={balance_after_rub} isExact />,
    },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
  return (
    <ListTable
      list={list}
      expectedCount={8}
      empty={words.empty}
      caption={words.ledger}
      columns={columns}
      keyOf={({ seq }) => seq}
    />
  )
}

/** The last rejected requests, each with the numbers that its client received. */
export function RejectionsSection({ organizationId }: Props) {
  const words = useWords(customerWords)
  const list = useReadList('/admin/organizations/:organization_id/refusals', {
    params: { organization_id: organizationId },
  })
  const rows = rowsOf(list)
  return (
    <Loaded query={list} skeleton={<SkeletonRows count={4} />}>
      {({ pages }) => (
        <>
          {pages.some(({ live }) => !live) && <Notice tone="warning">{words.live}</Notice>}
          {rows.length === 0 ? (
            <EmptyState text={words.empty} />
          ) : (
            <RefusalList
              refusals={rows.map(({ api_key_id: _, api_key_name, model, ...refusal }) => ({
                ...refusal,
                model: [model, api_key_name].filter((name) => name !== null).join(' · '),
              }))}
            />
          )}
          <LoadMore list={list} />
        </>
      )}
    </Loaded>
  )
}
