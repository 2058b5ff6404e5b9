import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  lead: 'The texts that users accept. A new version takes effect on its day. It cannot be changed once it is published.',
  versions: 'Versions',
  document: 'Document',
  day: 'In force from',
  state: 'Status',
  kinds: {
    offer: 'Public offer',
    personal_data: 'Consent to the processing of personal data',
    saved_card: 'Consent to automatic top-ups with a saved card',
  },
  states: { upcoming: 'Not in force yet', in_force: 'In force', outdated: 'Previous version' },
  publish: 'New version',
  publishLead:
    'From this day on, users must accept it before they top up. Write Markdown, in both languages.',
  dayHint: 'In Moscow: today or later.',
  textRu: 'Text in Russian',
  textEn: 'Text in English',
  reason: 'Reason',
  reasonHint: 'Kept in the audit log. At least 3 characters.',
  missing: 'Fill in this field',
  send: 'Publish',
  published: 'Version published',
  consents: 'Register of consents',
  consentsLead: 'The latest 50. The CSV file has all of them.',
  none: 'No document has been accepted yet.',
  csv: 'Download CSV',
  user: 'User',
  at: 'When',
  address: 'IP address',
  withdrawn: 'Withdrawn',
}
