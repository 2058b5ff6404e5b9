import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { CheckboxField } from '../../kit/fields.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import { DeleteAccountDialog } from './delete-account-dialog.tsx'
import { customerWords } from './messages.ts'

type Customer = Answer<'GET /admin/organizations/:organization_id'>
type User = Customer['members'][number]

/** The organization's members, each with its state and a block. */
export function MembersSection({ customer: { organization, members } }: { readonly customer: Customer }) {
  const words = useWords(customerWords)
  const [chosen, setChosen] = useState<User>()
  const [leaving, setLeaving] = useState<User>()
  const [losing, setLosing] = useState<User>()
  const [deleting, setDeleting] = useState<User>()
  const roles: Readonly<Record<string, string>> = words.roles
  const columns: readonly Column<User>[] = [
    { id: 'email', head: words.email, cell: ({ email }) => <span className="break-all">{email}</span> },
    {
      id: 'role',
      head: words.role,
      cell: ({ organizations }) => {
        const role = organizations.find(({ id }) => id === organization.id)?.role ?? ''
        return roles[role] ?? role
      },
    },
    {
      id: 'state',
      head: words.state,
      cell: ({ blocked_at, email_confirmed_at }) =>
        blocked_at === null ? (
          email_confirmed_at === null ? (
            words.notConfirmed
          ) : (
            words.confirmed
          )
        ) : (
          <>
            <Badge tone="danger">{words.blocked}</Badge> <DateTime at={blocked_at} />
          </>
        ),
    },
    {
      id: 'action',
      head: words.actions,
      cell: (user) => (
        <div className="flex flex-wrap gap-2">
          <Button size="small" aria-label={words.endSessionsOf(user.email)} onClick={() => setLeaving(user)}>
            {words.endSessions}
          </Button>
          {user.has_totp && (
            <Button size="small" aria-label={words.resetTotpOf(user.email)} onClick={() => setLosing(user)}>
              {words.resetTotp}
            </Button>
          )}
          <Button
            size="small"
            aria-label={
              user.blocked_at === null ? words.blockUser(user.email) : words.unblockUser(user.email)
            }
            onClick={() => setChosen(user)}
          >
            {user.blocked_at === null ? words.block : words.unblock}
          </Button>
          <Button
            size="small"
            aria-label={words.deleteAccountOf(user.email)}
            onClick={() => setDeleting(user)}
          >
            {words.deleteAccount}
          </Button>
        </div>
      ),
    },
  ]
  return (
    <Section title={words.members} isFlush>
      <Table caption={words.members} columns={columns} rows={members} keyOf={({ id }) => id} />
      {chosen !== undefined && <BlockDialog user={chosen} onClose={() => setChosen(undefined)} />}
      {deleting !== undefined && (
        <DeleteAccountDialog user={deleting} onClose={() => setDeleting(undefined)} />
      )}
      {losing !== undefined && <ResetTotpDialog user={losing} onClose={() => setLosing(undefined)} />}
      {leaving !== undefined && <EndSessionsDialog user={leaving} onClose={() => setLeaving(undefined)} />}
    </Section>
  )
}

function EndSessionsDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const words = useWords(customerWords)
  return (
    <ReasonDialog
      title={words.endSessionsOf(user.email)}
      lead={words.endSessionsLead}
      action={words.endSessions}
      send={(values) =>
        call('POST /admin/users/:user_id/end-sessions', {
          params: { user_id: user.id },
          body: { reason: textOf(values, 'reason') },
        })
      }
      onDone={() => {
        announce(words.done)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    />
  )
}

function ResetTotpDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const words = useWords(customerWords)
  return (
    <ReasonDialog
      title={words.resetTotpOf(user.email)}
      lead={words.resetTotpLead}
      action={words.resetTotp}
      isDanger
      send={(values) =>
        call('POST /admin/users/:user_id/totp-resets', {
          params: { user_id: user.id },
          body: { reason: textOf(values, 'reason') },
        })
      }
      onDone={({ state }) => {
        announce(state === 'pending' ? words.waits : words.resetPlanned)
        void readAgain('/admin/totp-resets')
      }}
      onClose={onClose}
    />
  )
}

function BlockDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const words = useWords(customerWords)
  const isBlocked = user.blocked_at !== null
  const params = { user_id: user.id }
  return (
    <ReasonDialog
      title={isBlocked ? words.unblockUser(user.email) : words.blockUser(user.email)}
      lead={isBlocked ? words.unblockLead : words.blockLead}
      action={isBlocked ? words.unblock : words.block}
      isDanger={!isBlocked}
      send={(values) => {
        const reason = textOf(values, 'reason')
        return isBlocked
          ? call('POST /admin/users/:user_id/unblock', { params, body: { reason } })
          : call('POST /admin/users/:user_id/block', {
              params,
              body: { reason, block_keys: values.has('block_keys') },
            })
      }}
      onDone={() => {
        announce(words.done)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    >
      {!isBlocked && <CheckboxField name="block_keys">{words.blockKeys}</CheckboxField>}
    </ReasonDialog>
  )
}
