import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { moneyWords } from './messages.ts'

type Reset = Answer<'GET /admin/totp-resets'>['data'][number]
type Chosen = { readonly reset: Reset; readonly decision: 'approve' | 'decline' }

/** Lost second factors: which removals wait for a second administrator or for their day, and which ended. */
export function TotpResetsSection() {
  const words = useWords(moneyWords)
  const [chosen, setChosen] = useState<Chosen>()
  const list = useReadList('/admin/totp-resets')
  const columns: readonly Column<Reset>[] = [
    {
      id: 'user',
      head: words.user,
      cell: ({ user_email }) => <span className="break-all">{user_email}</span>,
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
      cell: ({ state, due_at }) => (
        <>
          <Badge>{words.resetStates[state]}</Badge>{' '}
          {state === 'scheduled' && due_at !== null && <DateTime at={due_at} />}
        </>
      ),
    },
    {
      id: 'action',
      head: words.decision,
      cell: (reset) => (
        <span className="flex flex-wrap gap-2">
          {reset.state === 'pending' && (
            <Button
              size="small"
              aria-label={words.approveOf(reset.user_email)}
              onClick={() => setChosen({ reset, decision: 'approve' })}
            >
              {words.approve}
            </Button>
          )}
          {(reset.state === 'pending' || reset.state === 'scheduled') && (
            <Button
              size="small"
              aria-label={words.declineOf(reset.user_email)}
              onClick={() => setChosen({ reset, decision: 'decline' })}
            >
              {words.decline}
            </Button>
          )}
        </span>
      ),
    },
  ]
  return (
    <Section title={words.totpResets} isFlush>
      <ListTable
        list={list}
        expectedCount={2}
        empty={words.empty}
        caption={words.totpResets}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {chosen !== undefined && <DecisionDialog {...chosen} onClose={() => setChosen(undefined)} />}
    </Section>
  )
}

function DecisionDialog({ reset, decision, onClose }: Chosen & { readonly onClose: () => void }) {
  const words = useWords(moneyWords)
  const isApproval = decision === 'approve'
  return (
    <ReasonDialog
      title={isApproval ? words.approveOf(reset.user_email) : words.declineOf(reset.user_email)}
      lead={isApproval ? words.approveResetLead : words.declineResetLead}
      action={isApproval ? words.approve : words.decline}
      send={(values) => {
        const decided = { params: { reset_id: reset.id }, body: { reason: textOf(values, 'reason') } }
        return isApproval
          ? call('POST /admin/totp-resets/:reset_id/approve', decided)
          : call('POST /admin/totp-resets/:reset_id/decline', decided)
      }}
      onDone={() => {
        announce(words.decided)
        void readAgain('/admin/totp-resets')
      }}
      onClose={onClose}
    />
  )
}
