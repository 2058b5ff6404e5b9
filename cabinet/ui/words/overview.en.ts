import type { ru } from './overview.ru.ts'
import { plural } from './plural.ts'

export const en: typeof ru = {
  lead: 'Your balance, what was spent today, and what needs attention.',
  balance: 'Balance',
  held: 'Held for running requests:',
  topUp: 'Top up',
  spentToday: 'Spent today',
  yesterday: 'Yesterday:',
  requestsToday: 'Requests today',
  requests: (count: number) => plural('en', count, { one: 'request', other: 'requests' }),
  newKey: 'Create a key',
  keys: 'Keys with a daily budget',
  keysLead: 'Those with the least left come first.',
  allKeys: 'All keys',
  key: 'Key',
  today: 'Today',
  budget: 'Daily budget',
  used: (name: string, percent: number) => `${name}: ${percent}% of the daily budget used`,
  noBudgets: 'No key has a daily budget.',
  openKeys: 'Open the keys',
}
