import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  lead: 'Who changed or viewed data, when and why. Entries cannot be changed.',
  empty: 'No entries. Check the filters.',
  action: 'Action',
  actor: 'Actor',
  subject: 'Subject',
  change: 'Change',
  reason: 'Reason',
  place: 'Address and session',
  session: 'Session',
  address: 'Address',
  time: 'Time',
  organizationId: 'Organization id',
  actorId: 'Actor id',
  from: 'From',
  to: 'Before',
  csv: 'Download CSV',
}
