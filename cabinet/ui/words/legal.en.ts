import type { ru } from './legal.ru.ts'

export const en: typeof ru = {
  lead: 'What you agree to when you register. A version never changes once it is published: amendments come as a new one.',
  kinds: { offer: 'Public offer', personal_data: 'Consent to the processing of personal data' },
  inForce: 'In force',
  outdated: 'Former version',
  since: 'Version of',
  otherVersions: 'Other versions',
  allDocuments: '← All documents',
  none: 'There are no documents yet.',
  noSuch: 'There is no such document: the address may be wrong.',
  openList: 'Open the list of documents',
  toPresent: 'This is a former version. {Open the one in force}',
  onlyVersion: 'This document has no other versions.',
}
