import type { AlertEvent } from './alert-event.ts'

type Language = 'ru' | 'en'

/** What a message of the bot reports: an alert, or that the chat was linked. */
export type TelegramEvent = AlertEvent | { readonly type: 'linked' }

type Context = {
  readonly language: Language
  readonly organization: string
  /** Of the page with the numbers; `undefined`: the address of the cabinet is not known yet. */
  readonly link: string | undefined
}

/** The page with the numbers of an alert. */
export function pageOf({ type }: TelegramEvent): string {
  if (type === 'budget.reached') return '/app/keys'
  if (type === 'balance.low') return '/app/billing'
  return type === 'spend.spike' ? '/app/usage' : '/app/settings'
}

/** The plain text of a message, shorter than Telegram's 4,096 characters. Pure. */
export function writeTelegramText(event: TelegramEvent, { language, organization, link }: Context): string {
  const text = language === 'ru' ? inRussian(event, organization) : inEnglish(event, organization)
  return link === undefined ? text : `${text}\n${link}`
}

function inRussian(event: TelegramEvent, organization: string): string {
  switch (event.type) {
    case 'linked':
      return `Чат подключён. Сюда будут приходить уведомления организации ${organization}. Чтобы отключить их, отправьте /stop.`
    case 'test':
      return `Проверка: так придут уведомления организации ${organization}.`
    case 'balance.low':
      return `${organization}: баланс ${rubles(event.data.balance_rub, 'ru')}, это ниже порога ${rubles(event.data.threshold_rub, 'ru')}.`
    case 'spend.spike':
      return `${organization}: сегодня потрачено ${rubles(event.data.spent_rub, 'ru')}, более чем втрое больше обычного. Медиана за семь дней — ${rubles(event.data.median_rub, 'ru')}.`
    case 'budget.reached': {
      const { key_name, percent, budget, spent_rub, budget_rub } = event.data
      const names = { daily: 'на день', weekly: 'на неделю', monthly: 'на месяц', total: 'на всё время' }
      const whose = key_name === null ? 'вся организация' : `ключ ${key_name}`
      return `${organization}, ${whose}: потрачено ${percent} % бюджета ${names[budget]}, ${rubles(spent_rub, 'ru')} из ${rubles(budget_rub, 'ru')}.`
    }
  }
}

function inEnglish(event: TelegramEvent, organization: string): string {
  switch (event.type) {
    case 'linked':
      return `This chat is connected. It gets the notifications of the organization ${organization}. Send /stop to end them.`
    case 'test':
      return `A test: notifications of the organization ${organization} arrive like this.`
    case 'balance.low':
      return `${organization}: the balance is ${rubles(event.data.balance_rub, 'en')}, below the threshold of ${rubles(event.data.threshold_rub, 'en')}.`
    case 'spend.spike':
      return `${organization}: ${rubles(event.data.spent_rub, 'en')} was spent today, more than three times as much as usual. The median of seven days is ${rubles(event.data.median_rub, 'en')}.`
    case 'budget.reached': {
      const { key_name, percent, budget, spent_rub, budget_rub } = event.data
      const whose = key_name === null ? 'the whole organization' : `key ${key_name}`
      return `${organization}, ${whose}: ${percent}% of the ${budget} budget is spent, ${rubles(spent_rub, 'en')} of ${rubles(budget_rub, 'en')}.`
    }
  }
}

/** A decimal of rubles, cut to kopecks. */
function rubles(decimal: string, language: Language): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  const kopecks = fraction.padEnd(2, '0').slice(0, 2)
  return language === 'ru' ? `${whole},${kopecks} ₽` : `₽${whole}.${kopecks}`
}
