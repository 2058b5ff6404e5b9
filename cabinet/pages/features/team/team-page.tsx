import { useMay, useMe } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { PageHead } from '../../kit/section.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { InvitationsSection } from './invitations-section.tsx'
import { LeaveSection } from './leave-section.tsx'
import { MembersSection } from './members-section.tsx'
import { teamWords } from './messages.ts'
import { TokensSection } from './tokens-section.tsx'

/** The members of the organization, their roles, invitations, and tokens. */
export function TeamPage() {
  const words = useWords(teamWords)
  const title = pageRoutes['/app/team'].title[useLanguage()]
  const mayChange = useMay('team.write')
  const mayHaveTokens = useMay('tokens.write')
  // Shown before the role is known, a section of owners would appear and vanish, and the last section would move.
  const isKnown = useMe().isSuccess
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <div className="grid max-w-5xl gap-6">
        <MembersSection />
        {isKnown && mayChange && <InvitationsSection />}
        {isKnown && mayHaveTokens && <TokensSection />}
        {isKnown && <LeaveSection />}
      </div>
    </>
  )
}
