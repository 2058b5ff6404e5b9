import { plural } from '../../i18n/plural.ts'

export const ru = {
  title: 'Расход за 30 дней',
  spent: 'Потрачено',
  requestCount: 'Запросов',
  chartName: (from: string, to: string, total: string) => `Расход по дням, ${from} — ${to}: всего ${total}.`,
  highest: (day: string, sum: string) => `Больше всего — ${day}: ${sum}.`,
  daily: 'Расход по дням',
  onDay: (day: string, sum: string) => `${day}: ${sum}`,
  inUsage: 'По дням и подробнее',
  topKeys: 'Самые дорогие ключи',
  topModels: 'Самые дорогие модели',
  noKey: 'Ключ удалён',
  requests: (count: number) => plural('ru', count, { one: 'запрос', few: 'запроса', many: 'запросов' }),
  shareOfAll: (name: string, percent: number) => `${name}: ${percent}\u00a0% расхода`,
}
