import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { moneyWords } from './messages.ts'
import { TotpResetsSection } from './totp-resets-section.tsx'

type Approval = Answer<'GET /admin/approvals'>['data'][number]
type Chosen = { readonly approval: Approval; readonly decision: 'approve' | 'decline' }

/** Adjustments, refunds and write-offs that wait for a second administrator, and those that were decided. */
export function ApprovalsPage() {
  const words = useWords(moneyWords)
  const title = administrationRoutes['/app/approvals'].title[useLanguage()]
  const [chosen, setChosen] = useState<Chosen>()
  const list = useReadList('/admin/approvals', { query: { state: 'all' } })
  const columns: readonly Column<Approval>[] = [
    { id: 'kind', head: words.kind, cell: ({ kind }) => words.approvalKinds[kind] },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => <Money rubles={amount_rub} />,
    },
    {
      id: 'customer',
      head: words.customer,
      cell: ({ organization_id }) => (
        <TextLink href={`/app/customers/${organization_id}`}>{words.customer}</TextLink>
      ),
    },
    {
      id: 'of',
      head: words.approvalOf,
      cell: ({ payment_id, charge_id }) => {
        const id = payment_id ?? charge_id
        return id === null ? '' : <span className="font-mono text-xs break-all">{id}</span>
      },
    },
    {
      id: 'by',
      head: words.requestedBy,
      cell: ({ requested_by_email }) => <span className="break-all">{requested_by_email}</span>,
    },
    {
      id: 'reason',
      head: words.reason,
      cell: ({ reason }) => <span className="block max-w-96 min-w-32 wrap-anywhere">{reason}</span>,
    },
    { id: 'time', head: words.time, cell: ({ requested_at }) => <DateTime at={requested_at} /> },
    {
      id: 'state',
      head: words.status,
      cell: (approval) =>
        approval.state === 'pending' ? (
          <Decisions approval={approval} onChoose={setChosen} />
        ) : (
          <Badge>{words.approvalStates[approval.state]}</Badge>
        ),
    },
  ]
  return (
    <>
      <PageHead title={title} lead={words.approvalsLead} />
      <Section title={title} isFlush>
        <ListTable
          list={list}
          expectedCount={4}
          empty={words.empty}
          caption={title}
          columns={columns}
          keyOf={({ id }) => id}
        />
      </Section>
      <TotpResetsSection />
      {chosen !== undefined && <DecisionDialog {...chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

function Decisions({
  approval,
  onChoose,
}: {
  readonly approval: Approval
  readonly onChoose: (chosen: Chosen) => void
}) {
  const words = useWords(moneyWords)
  const email = approval.requested_by_email
  return (
    <span className="flex flex-wrap gap-2">
      <Button
        size="small"
        aria-label={words.approveOf(email)}
        onClick={() => onChoose({ approval, decision: 'approve' })}
      >
        {words.approve}
      </Button>
      <Button
        size="small"
        aria-label={words.declineOf(email)}
        onClick={() => onChoose({ approval, decision: 'decline' })}
      >
        {words.decline}
      </Button>
    </span>
  )
}

function DecisionDialog({ approval, decision, onClose }: Chosen & { readonly onClose: () => void }) {
  const words = useWords(moneyWords)
  const isApproval = decision === 'approve'
  return (
    <ReasonDialog
      title={isApproval ? words.approve : words.decline}
      lead={isApproval ? words.approveLead : words.declineLead}
      action={isApproval ? words.approve : words.decline}
      send={(values, idempotencyKey) => {
        const decided = { params: { approval_id: approval.id }, body: { reason: textOf(values, 'reason') } }
        return isApproval
          ? call('POST /admin/approvals/:approval_id/approve', { ...decided, idempotencyKey })
          : call('POST /admin/approvals/:approval_id/decline', { ...decided, idempotencyKey })
      }}
      onDone={() => {
        announce(words.decided)
        void readAgain('/admin/approvals', '/admin/rejected-charges')
      }}
      onClose={onClose}
    />
  )
}
