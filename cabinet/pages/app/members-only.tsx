import type { ReactNode } from 'react'
import { isOfAnother } from '../api/organization.ts'
import { useWords } from '../i18n/language.ts'
import { PageHead, Section } from '../kit/section.tsx'
import type { PagePath } from '../page-routes.ts'
import { useMe } from './me.ts'
import { OrganizationList } from './organization-menu.tsx'
import { organizationWords } from './organization-messages.ts'

/** Pages about the user, not about an organization. */
const personal: readonly PagePath[] = ['/app/settings', '/app/invitations/:invitation_id']

/** A page of the cabinet, or for a user who is no member of this tab's organization, the way to others. */
export function MembersOnly({ path, children }: { readonly path: PagePath; readonly children: ReactNode }) {
  const words = useWords(organizationWords)
  const me = useMe().data
  if (me === undefined || me.organization !== null || personal.includes(path)) return children
  // Another user has signed in: the page is loaded again for that one.
  if (isOfAnother(me.email)) return children
  const hasOthers = me.organizations.length > 0
  return (
    <>
      <PageHead
        title={words.notMember}
        lead={hasOthers ? words.notMemberLead : words.noOrganizationLead(me.email)}
      />
      {hasOthers && (
        <Section title={words.organizations}>
          <OrganizationList />
        </Section>
      )}
    </>
  )
}
