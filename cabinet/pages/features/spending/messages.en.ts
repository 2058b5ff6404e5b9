import { plural } from '../../i18n/plural.ts'
import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  title: 'Spending in 30 days',
  spent: 'Spent',
  requestCount: 'Requests',
  chartName: (from, to, total) => `Spending by day, ${from} — ${to}: ${total} in total.`,
  highest: (day, sum) => `The most on ${day}: ${sum}.`,
  daily: 'Spending by day',
  onDay: (day, sum) => `${day}: ${sum}`,
  inUsage: 'By day and in detail',
  topKeys: 'Most expensive keys',
  topModels: 'Most expensive models',
  noKey: 'Deleted key',
  requests: (count) => plural('en', count, { one: 'request', other: 'requests' }),
  shareOfAll: (name, percent) => `${name}: ${percent}% of the spending`,
}
