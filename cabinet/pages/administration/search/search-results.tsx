import type { ReactNode } from 'react'
import { billingWords } from '../../features/billing/messages.ts'
import { RefusalList } from '../../features/keys/refusal-list.tsx'
import { OutcomeBadge } from '../../features/usage/request-table.tsx'
import { useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { AskProvider } from '../money/ask-provider.tsx'
import { usePaymentColumns } from '../money/payment-columns.tsx'
import type { Found } from './found.ts'
import { searchWords } from './messages.ts'

/** Each object that was found, with a link to its customer. */
export function SearchResults({
  found,
  onChange,
}: Props & {
  /** Called once an object in the result may have changed. */
  readonly onChange: () => void
}) {
  const words = useWords(searchWords)
  const { by: _, is_archive_away: isArchiveAway, ...lists } = found
  const incomplete = isArchiveAway && <Notice tone="warning">{words.archiveAway}</Notice>
  if (Object.values(lists).every((list) => list.length === 0))
    return incomplete || <Notice tone="warning">{words.nothing}</Notice>
  return (
    <>
      {incomplete}
      <Receipts found={found} />
      <Rejections found={found} />
      <Payments found={found} onChange={onChange} />
      <Ledger found={found} />
      <Keys found={found} />
      <Users found={found} />
      <Organizations found={found} />
      <Emails found={found} />
    </>
  )
}

type Props = { readonly found: Found }

/** A table of one kind; nothing if there is none. */
function List<Row>({
  title,
  rows,
  columns,
  keyOf,
}: {
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
}) {
  if (rows.length === 0) return null
  return (
    <Section title={title} isFlush>
      <Table caption={title} columns={columns} rows={rows} keyOf={keyOf} />
    </Section>
  )
}

function CustomerLink({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  return <TextLink href={`/app/customers/${id}`}>{children}</TextLink>
}

function Receipts({ found: { receipts } }: Props) {
  const words = useWords(searchWords)
  const columns: readonly Column<Found['receipts'][number]>[] = [
    {
      id: 'id',
      head: words.receipts,
      cell: ({ id, organization_id }) => (
        <TextLink href={`/app/customers/${organization_id}/requests/${id}`}>
          <span className="font-mono text-xs break-all">{id}</span>
        </TextLink>
      ),
    },
    {
      id: 'organization',
      head: words.organization,
      cell: ({ organization_id, organization_name }) => (
        <CustomerLink id={organization_id}>{organization_name}</CustomerLink>
      ),
    },
    { id: 'model', head: words.model, cell: ({ model_ran, model_asked }) => model_ran ?? model_asked },
    { id: 'outcome', head: words.outcome, cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      cell: ({ cost_rub }) => <Money rubles={cost_rub} isExact />,
    },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
  return <List title={words.receipts} rows={receipts} columns={columns} keyOf={({ id }) => id} />
}

function Rejections({ found: { rejections } }: Props) {
  const words = useWords(searchWords)
  const [first] = rejections
  if (first === undefined) return null
  return (
    <Section
      title={words.rejections}
      isFlush
      actions={<CustomerLink id={first.organization_id}>{first.organization_name}</CustomerLink>}
    >
      <RefusalList
        refusals={rejections.map(({ api_key_id: _, api_key_name, model, ...refusal }) => ({
          ...refusal,
          model: [model, api_key_name].filter((name) => name !== null).join(' · '),
        }))}
      />
    </Section>
  )
}

function Payments({ found: { payments }, onChange }: Props & { readonly onChange: () => void }) {
  const words = useWords(searchWords)
  const shown = usePaymentColumns()
  const columns: readonly Column<Found['payments'][number]>[] = [
    {
      id: 'id',
      head: words.payments,
      cell: ({ id }) => <span className="font-mono text-xs break-all">{id}</span>,
    },
    {
      id: 'organization',
      head: words.organization,
      cell: ({ organization_id }) => <CustomerLink id={organization_id}>{words.openCustomer}</CustomerLink>,
    },
    ...shown,
    {
      id: 'action',
      head: words.actions,
      cell: ({ id }) => <AskProvider paymentId={id} onAnswer={onChange} />,
    },
  ]
  return <List title={words.payments} rows={payments} columns={columns} keyOf={({ id }) => id} />
}

function Ledger({ found: { ledger } }: Props) {
  const words = useWords(searchWords)
  const kinds: Readonly<Record<string, string>> = useWords(billingWords).kinds
  const columns: readonly Column<Found['ledger'][number]>[] = [
    { id: 'entry', head: words.entry, cell: ({ kind }) => kinds[kind] ?? kind },
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
    <List
      title={words.ledger}
      rows={ledger}
      columns={columns}
      keyOf={({ ref_id, kind, balance_after_rub }) => `${ref_id} ${kind} ${balance_after_rub}`}
    />
  )
}

function Keys({ found: { keys } }: Props) {
  const words = useWords(searchWords)
  const columns: readonly Column<Found['keys'][number]>[] = [
    { id: 'name', head: words.key, cell: ({ name }) => <bdi>{name}</bdi> },
    { id: 'secret', head: words.secret, cell: ({ secret_hint }) => <code>{secret_hint}</code> },
    {
      id: 'organization',
      head: words.organization,
      cell: ({ organization_id, organization_name }) => (
        <CustomerLink id={organization_id}>{organization_name}</CustomerLink>
      ),
    },
    {
      id: 'state',
      head: words.status,
      cell: ({ revoked_at }) =>
        revoked_at === null ? (
          <Badge tone="success">{words.works}</Badge>
        ) : (
          <Badge tone="danger">{words.revoked}</Badge>
        ),
    },
  ]
  return (
    <List
      title={words.keys}
      rows={keys}
      columns={columns}
      keyOf={({ id, secret_hint }) => `${id} ${secret_hint}`}
    />
  )
}

function Users({ found: { users } }: Props) {
  const words = useWords(searchWords)
  const columns: readonly Column<Found['users'][number]>[] = [
    { id: 'email', head: words.email, cell: ({ email }) => <span className="break-all">{email}</span> },
    {
      id: 'organization',
      head: words.organization,
      cell: ({ organizations }) =>
        organizations.map(({ id, name }) => (
          <CustomerLink key={id} id={id}>
            {name}
          </CustomerLink>
        )),
    },
    {
      id: 'state',
      head: words.status,
      cell: ({ blocked_at, email_confirmed_at }) => {
        if (blocked_at !== null) return <Badge tone="danger">{words.blocked}</Badge>
        return email_confirmed_at === null ? <Badge tone="warning">{words.notConfirmed}</Badge> : ''
      },
    },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
  return <List title={words.users} rows={users} columns={columns} keyOf={({ id }) => id} />
}

function Organizations({ found: { organizations } }: Props) {
  const words = useWords(searchWords)
  const columns: readonly Column<Found['organizations'][number]>[] = [
    {
      id: 'name',
      head: words.organization,
      cell: ({ id, display_name, name }) => <CustomerLink id={id}>{display_name ?? name}</CustomerLink>,
    },
    {
      id: 'balance',
      head: words.balance,
      isNumber: true,
      cell: ({ balance_rub }) => <Money rubles={balance_rub} />,
    },
    { id: 'keys', head: words.keys, isNumber: true, cell: ({ key_count }) => key_count },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
  return <List title={words.organizations} rows={organizations} columns={columns} keyOf={({ id }) => id} />
}

function Emails({ found: { emails } }: Props) {
  const words = useWords(searchWords)
  const columns: readonly Column<Found['emails'][number]>[] = [
    { id: 'kind', head: words.kind, cell: ({ kind }) => <code>{kind}</code> },
    {
      id: 'state',
      head: words.status,
      cell: ({ sent_at, gave_up_at, last_error }) => {
        if (sent_at !== null)
          return (
            <>
              {words.sent} <DateTime at={sent_at} />
            </>
          )
        return `${gave_up_at === null ? words.waiting : words.gaveUp} ${last_error ?? ''}`
      },
    },
    { id: 'tries', head: words.tries, isNumber: true, cell: ({ tries }) => tries },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
  return <List title={words.emails} rows={emails} columns={columns} keyOf={({ id }) => id} />
}
