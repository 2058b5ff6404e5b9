import type { ru } from './organization-messages.ru.ts'

export const en: typeof ru = {
  organizations: 'Your organizations',
  chooseOrganization: (name: string) => `Organization: ${name}. Choose another`,
  roles: { owner: 'owner', developer: 'developer', accountant: 'accountant' },
  noOrganization: 'No organization',
  notMember: 'You are no longer a member of this organization',
  notMemberLead: 'An owner removed you, or you left. Choose another organization.',
  noOrganizationLead: (email: string) =>
    `You are not a member of any organization. Ask an owner to invite ${email}.`,
}
