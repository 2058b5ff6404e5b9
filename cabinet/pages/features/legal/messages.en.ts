import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  lead: 'The documents that you accept when you register or save a card. A published version never changes: amendments are published as a new version.',
  kinds: {
    offer: 'Public offer',
    personal_data: 'Consent to the processing of personal data',
    saved_card: 'Consent to automatic top-ups with a saved card',
  },
  states: { upcoming: 'Not in force yet', in_force: 'In force', outdated: 'Previous version' },
  since: 'Version of',
  otherVersions: 'Other versions',
  allDocuments: '← All documents',
  none: 'No documents yet.',
  noSuch: 'This document does not exist: the address may be wrong.',
  openList: 'Open the list of documents',
  toPresent: {
    upcoming: 'This version takes effect on its date. {Open the version in force}',
    outdated: 'This is a previous version. {Open the version in force}',
  },
  onlyVersion: 'This document has no other versions.',
}
