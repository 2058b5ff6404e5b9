import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import type { Column } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { customerWords } from './messages.ts'

type Email = Answer<'GET /admin/organizations/:organization_id/emails'>['data'][number]

/** Emails to the organization's members and invitations, whether they were delivered, and a way to write one again. */
export function EmailsSection({ organizationId }: { readonly organizationId: string }) {
  const words = useWords(customerWords)
  const [chosen, setChosen] = useState<Email>()
  const list = useReadList('/admin/organizations/:organization_id/emails', {
    params: { organization_id: organizationId },
  })
  const kinds: Readonly<Record<string, string>> = words.emailKinds
  const kindOf = ({ kind }: Email) => kinds[kind] ?? kind
  const columns: readonly Column<Email>[] = [
    { id: 'kind', head: words.letter, cell: kindOf },
    {
      id: 'recipient',
      head: words.recipient,
      cell: ({ recipient }) => <span className="break-all">{recipient}</span>,
    },
    { id: 'state', head: words.state, cell: (email) => <Delivery email={email} /> },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      id: 'action',
      head: words.actions,
      cell: (email) =>
        (email.sent_at !== null || email.gave_up_at !== null) && (
          <Button
            size="small"
            aria-label={words.resendTo(kindOf(email), email.recipient)}
            onClick={() => setChosen(email)}
          >
            {words.resend}
          </Button>
        ),
    },
  ]
  return (
    <>
      <ListTable
        list={list}
        expectedCount={8}
        empty={words.empty}
        caption={words.emails}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {chosen !== undefined && (
        <ReasonDialog
          title={words.resendTo(kindOf(chosen), chosen.recipient)}
          lead={words.resendLead}
          action={words.resend}
          send={(values) =>
            call('POST /admin/organizations/:organization_id/emails/:email_id/resend', {
              params: { organization_id: organizationId, email_id: chosen.id },
              body: { reason: textOf(values, 'reason') },
            })
          }
          onDone={() => {
            announce(words.resent)
            void readAgain('/admin/organizations/:organization_id/emails')
          }}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

function Delivery({ email: { sent_at, gave_up_at, tries, last_error } }: { readonly email: Email }) {
  const words = useWords(customerWords)
  if (sent_at !== null) return <Badge tone="success">{words.sent}</Badge>
  return (
    <>
      <Badge tone={gave_up_at === null ? 'warning' : 'danger'}>
        {gave_up_at === null ? words.notSent : words.notDelivered}
      </Badge>{' '}
      {words.tries(tries)} {last_error !== null && <code className="break-all">{last_error}</code>}
    </>
  )
}
