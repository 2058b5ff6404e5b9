import { plural } from './plural.ts'

export const ru = {
  lead: 'Баланс, расход за сегодня и то, что требует внимания.',
  balance: 'Баланс',
  held: 'Зарезервировано под идущие запросы:',
  topUp: 'Пополнить',
  spentToday: 'Потрачено сегодня',
  yesterday: 'Вчера:',
  requestsToday: 'Запросов сегодня',
  requests: (count: number) => plural('ru', count, { one: 'запрос', few: 'запроса', many: 'запросов' }),
  newKey: 'Создать ключ',
  keys: 'Ключи с дневным бюджетом',
  keysLead: 'Сначала те, у кого осталось меньше всего.',
  allKeys: 'Все ключи',
  key: 'Ключ',
  today: 'Сегодня',
  budget: 'Бюджет на день',
  used: (name: string, percent: number) => `${name}: израсходовано ${percent}\u00a0% дневного бюджета`,
  noBudgets: 'Ни у одного ключа нет дневного бюджета.',
  openKeys: 'Открыть ключи',
}
