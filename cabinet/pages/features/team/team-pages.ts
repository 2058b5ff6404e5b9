import type { PageGroup } from '../../app/page-group.ts'
import { InvitationPage } from './invitation-page.tsx'
import { TeamPage } from './team-page.tsx'

export const teamPages: PageGroup<'/app/team' | '/app/invitations/:invitation_id'> = {
  '/app/team': TeamPage,
  '/app/invitations/:invitation_id': InvitationPage,
}
