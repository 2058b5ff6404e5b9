import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { teamWords } from './messages.ts'
import { RoleField, roleIn } from './role-field.tsx'

type Invitation = Answer<'GET /invitations'>['data'][number]

/** Sends invitations, and lists those that can still be accepted. */
export function InvitationsSection() {
  const words = useWords(teamWords)
  const isConfirmed = useIsConfirmed()
  const invitations = useRead('/invitations')
  return (
    <Section title={words.invitations} lead={words.invitationsLead}>
      <div className="grid gap-5">
        {isConfirmed ? <InviteForm /> : <ConfirmFirst />}
        <Loaded query={invitations} skeleton={<SkeletonRows count={1} />}>
          {({ data }) =>
            data.length === 0 ? null : (
              <ul aria-label={words.pending} className="grid">
                {data.map((invitation) => (
                  <InvitationRow key={invitation.id} invitation={invitation} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </div>
    </Section>
  )
}

function InviteForm() {
  const words = useWords(teamWords)
  const [sentCount, setSentCount] = useState(0)
  return (
    <Form
      key={sentCount}
      check={(values) => ({ email: /^\S+@\S+$/.test(emailIn(values)) ? undefined : words.emailWrong })}
      send={(values) => call('POST /invitations', { body: { email: emailIn(values), role: roleIn(values) } })}
      onDone={({ email }) => {
        announce(words.invited(email))
        setSentCount(sentCount + 1)
        void readAgain('/invitations')
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField name="email" label={words.email} type="email" autoComplete="off" />
        <RoleField initial="developer" />
      </div>
      <div>
        <SubmitButton>{words.invite}</SubmitButton>
      </div>
    </Form>
  )
}

const emailIn = (values: FormData) => String(values.get('email')).trim()

function InvitationRow({ invitation }: { readonly invitation: Invitation }) {
  const words = useWords(teamWords)
  const { id, email, role, expires_at } = invitation
  const revoke = useChange(async () => {
    try {
      await call('DELETE /invitations/:invitation_id', { params: { invitation_id: id } })
      announce(words.revoked)
    } finally {
      await readAgain('/invitations')
    }
  })
  return (
    <li className="grid gap-3 border-b border-line py-3 last:border-b-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <p className="font-medium wrap-anywhere">
            <bdi>{email}</bdi>
          </p>
          <p className="text-sm text-muted">
            {words.roles[role]} · {words.validUntil} <DateTime at={expires_at} />
          </p>
        </div>
        <Button
          size="small"
          isPending={revoke.isPending}
          aria-label={words.revokeOf(email)}
          onClick={revoke.start}
        >
          {words.revoke}
        </Button>
      </div>
      {revoke.problem !== undefined && revoke.problem.status !== 404 && (
        <ProblemNote problem={revoke.problem} fallback={words.notRevoked} />
      )}
    </li>
  )
}
