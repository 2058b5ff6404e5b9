import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { FilterBar } from '../../kit/filter-fields.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { operationWords } from './messages.ts'

type Charge = Answer<'GET /admin/rejected-charges'>['data'][number]
type Chosen = { readonly charge: Charge; readonly decision: 'post' | 'write_off' }

/** Charges that the ledger rejected, and the two ways to end them. */
export function RejectedChargesSection() {
  const words = useWords(operationWords)
  const [chosen, setChosen] = useState<Chosen>()
  const [filters, setFilters] = useAddressFilters(['charges'])
  const state = filters.charges === 'all' ? 'all' : 'open'
  const list = useReadList('/admin/rejected-charges', { query: { state } })
  const columns: readonly Column<Charge>[] = [
    {
      id: 'request',
      head: words.request,
      cell: ({ request_id }) => (
        <span className="font-mono text-xs break-all">{request_id ?? words.unreadable}</span>
      ),
    },
    {
      id: 'customer',
      head: words.customer,
      cell: ({ organization_id }) =>
        organization_id === null ? (
          words.unknownCustomer
        ) : (
          <TextLink href={`/app/customers/${organization_id}`}>{words.customer}</TextLink>
        ),
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => amount_rub && <Money rubles={amount_rub} isExact />,
    },
    {
      id: 'problem',
      head: words.problem,
      cell: ({ error }) => <span className="block max-w-96 min-w-32 wrap-anywhere">{error}</span>,
    },
    { id: 'time', head: words.time, cell: ({ at }) => <DateTime at={at} /> },
    {
      id: 'decision',
      head: words.decision,
      cell: (charge) =>
        charge.state === 'open' ? (
          <Decisions charge={charge} onChoose={setChosen} />
        ) : (
          <>
            <Badge>{charge.state === 'posted' ? words.posted : words.writtenOff}</Badge>{' '}
            <span className="block max-w-96 min-w-32 wrap-anywhere">{charge.decision_reason}</span>
          </>
        ),
    },
  ]
  return (
    <Section title={words.rejected} lead={words.rejectedLead} isFlush>
      <FilterBar setCount={state === 'open' ? 0 : 1}>
        <SelectField
          name="charges"
          label={words.show}
          value={state}
          onChange={({ target }) =>
            setFilters({ charges: target.value === 'open' ? undefined : target.value })
          }
        >
          <option value="open">{words.open}</option>
          <option value="all">{words.all}</option>
        </SelectField>
      </FilterBar>
      <ListTable
        list={list}
        expectedCount={2}
        empty={words.rejectedEmpty}
        caption={words.rejected}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {chosen !== undefined && <DecisionDialog {...chosen} onClose={() => setChosen(undefined)} />}
    </Section>
  )
}

function Decisions({
  charge,
  onChoose,
}: {
  readonly charge: Charge
  readonly onChoose: (chosen: Chosen) => void
}) {
  const words = useWords(operationWords)
  const name = charge.request_id ?? charge.id
  return (
    <span className="flex flex-wrap gap-2">
      {charge.can_be_posted && (
        <Button
          size="small"
          aria-label={words.postOf(name)}
          onClick={() => onChoose({ charge, decision: 'post' })}
        >
          {words.post}
        </Button>
      )}
      {charge.pending_approval_id === null ? (
        <Button
          size="small"
          aria-label={words.writeOffOf(name)}
          onClick={() => onChoose({ charge, decision: 'write_off' })}
        >
          {words.writeOff}
        </Button>
      ) : (
        <TextLink href="/app/approvals">{words.waits}</TextLink>
      )}
    </span>
  )
}

function DecisionDialog({ charge, decision, onClose }: Chosen & { readonly onClose: () => void }) {
  const words = useWords(operationWords)
  const isPosting = decision === 'post'
  return (
    <ReasonDialog
      title={isPosting ? words.post : words.writeOff}
      lead={isPosting ? words.postLead : words.writeOffLead}
      action={isPosting ? words.post : words.writeOff}
      isDanger={!isPosting}
      send={(values, idempotencyKey) => {
        const decided = { params: { charge_id: charge.id }, body: { reason: textOf(values, 'reason') } }
        return isPosting
          ? call('POST /admin/rejected-charges/:charge_id/post', { ...decided, idempotencyKey })
          : call('POST /admin/rejected-charges/:charge_id/write-off', { ...decided, idempotencyKey })
      }}
      onDone={(sent) => {
        announce('kind' in sent ? words.waits : words.decided)
        void readAgain(
          '/admin/rejected-charges',
          '/admin/operations/days',
          '/admin/operations/state',
          '/admin/approvals',
        )
      }}
      onClose={onClose}
    />
  )
}
