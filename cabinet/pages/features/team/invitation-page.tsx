import { navigate } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { type Me, useMe } from '../../app/me.ts'
import { nameOf, openOrganization } from '../../app/organizations.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { teamWords } from './messages.ts'

type Invitation = Answer<'GET /me/invitations'>['data'][number]

/** The page that an invitation's email links to. */
export function InvitationPage({ params }: PageProps) {
  const title = pageRoutes['/app/invitations/:invitation_id'].title[useLanguage()]
  const me = useMe()
  const received = useRead('/me/invitations')
  return (
    <>
      <PageHead title={title} />
      <Loaded query={me} skeleton={<Skeleton heightRem={14} />}>
        {(person) => (
          <Loaded query={received} skeleton={<Skeleton heightRem={14} />}>
            {({ data }) => {
              const found = data.find(({ id }) => id === params.invitation_id?.toLowerCase())
              if (!person.is_confirmed) return <ConfirmFirst />
              return found === undefined ? (
                <NotValid me={person} />
              ) : (
                <Received me={person} invitation={found} />
              )
            }}
          </Loaded>
        )}
      </Loaded>
    </>
  )
}

function NotValid({ me }: { readonly me: Me }) {
  const words = useWords(teamWords)
  return (
    <Notice tone="warning">
      <p className="wrap-anywhere">{words.invitationNotValid(me.email)}</p>
    </Notice>
  )
}

function Received({ me, invitation }: { readonly me: Me; readonly invitation: Invitation }) {
  const words = useWords(teamWords)
  const { id, organization, role, invited_by, expires_at } = invitation
  const params = { invitation_id: id }
  const accept = useChange(async () => {
    const { organization_id } = await call('POST /me/invitations/:invitation_id/accept', { params })
    openOrganization(me, organization_id)
  })
  const decline = useChange(async () => {
    await call('DELETE /me/invitations/:invitation_id', { params })
    announce(words.declined)
    navigate('/app', { replace: true })
    await readAgain('/me/invitations')
  })
  const problem = accept.problem ?? decline.problem
  return (
    <Section title={nameOf(organization)}>
      <div className="grid gap-4">
        <p className="wrap-anywhere">{words.invitedBy(invited_by, words.roles[role])}</p>
        <p className="text-sm text-muted">{words.roleHint}</p>
        <p className="text-sm text-muted">
          {words.validUntil} <DateTime at={expires_at} />
        </p>
        <Actions>
          <Button variant="primary" isPending={accept.isPending} onClick={accept.start}>
            {words.accept}
          </Button>
          <Button isPending={decline.isPending} onClick={decline.start}>
            {words.decline}
          </Button>
        </Actions>
        {problem && <ProblemNote problem={problem} fallback={words.notAnswered} />}
      </div>
    </Section>
  )
}
