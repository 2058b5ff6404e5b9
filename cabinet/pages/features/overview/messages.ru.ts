import { plural } from '../../i18n/plural.ts'

export const ru = {
  lead: 'Баланс, расход за сегодня и всё, что требует внимания.',
  balance: 'Баланс',
  held: 'Зарезервировано:',
  nothingHeld: 'Ничего не зарезервировано',
  lowBalance: 'Ниже заданного вами порога',
  topUp: 'Пополнить',
  spentToday: 'Потрачено сегодня',
  requestsToday: 'Запросов сегодня',
  yesterday: 'Вчера за весь день:',
  zone: (zone: string) => `Часовой пояс: ${zone}.`,
  newKey: 'Создать ключ',

  nearTitle: 'Ключи, близкие к бюджету',
  nearLead: 'Израсходовано не меньше 80\u00a0% бюджета на день, неделю, месяц или всё время.',
  allKeys: 'Все ключи',
  organizationBudgets: 'Лимиты расходов организации',
  organizationBudgetsLead: 'Сколько потратили все её ключи вместе.',
  changeLimits: 'Изменить лимиты',
  limitPeriods: { day: 'Сегодня', week: 'На этой неделе', month: 'В этом месяце', total: 'За всё время' },
  limitUsed: (period: string, percent: number) => `${period}: израсходовано ${percent}\u00a0% лимита`,
  limitReached: 'Запросы отклоняются.',
  limitResets: 'Следующий период начнётся',
  ofBudget: 'из',
  periods: { day: 'на день', week: 'на неделю', month: 'на месяц', total: 'на всё время' },
  used: (name: string, percent: number, period: string) =>
    `${name}: израсходовано ${percent}\u00a0% бюджета ${period}`,

  refusalsTitle: 'Последние отказы',
  refusalsLead: 'Какой лимит сработал и когда он обновится.',
  allRefusals: 'Все отказы',

  startTitle: 'С чего начать',
  startLead: (done: number, all: number) =>
    `Готово ${done} из ${plural('ru', all, { one: 'шага', few: 'шагов', many: 'шагов' })}.`,
  done: 'Готово',
  notDone: 'Ещё не сделано',
  confirmStep: 'Подтвердите адрес почты',
  confirmText: (email: string) => `Откройте ссылку из письма, которое мы отправили на ${email}.`,
  sendAgain: 'Отправить письмо ещё раз',
  sentAgain: 'Письмо отправлено ещё раз',
  keyStep: 'Создайте ключ',
  keyText:
    'С ключом ваша программа обращается к моделям. Задайте ему бюджет на день, чтобы не потратить лишнего.',
  requestStep: 'Отправьте первый запрос',
  requestText:
    'Подставьте свой ключ в команду или попробуйте модель в {песочнице}. Шаг отметится автоматически.',
  topUpStep: 'Пополните баланс',
  topUpText: 'Ключи работают, пока на балансе есть деньги.',
}
