import type { LetterContent } from './letter-content.ts'
import { rublesInEnglish, rublesInRussian } from './written-values.ts'

type Content = Extract<
  LetterContent,
  { readonly kind: 'low_balance' | 'budget_reached' | 'spend_spike' | 'notification_test' }
>
type Budget = Extract<Content, { readonly kind: 'budget_reached' }>['vars']['budgets'][number]

type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

/** The emails that an organization asked for. Pure. */
export function draftAlertInRussian(content: Content): Draft {
  const { organization, link } = content.vars
  switch (content.kind) {
    case 'low_balance': {
      const { balance, threshold } = content.vars
      return {
        subject: `Баланс организации ${organization} ниже ${rublesInRussian(threshold)}`,
        paragraphs: [
          `Баланс организации ${organization} — ${rublesInRussian(balance)}. Это ниже порога в ${rublesInRussian(threshold)}, о котором вы просили предупредить.`,
          'Когда деньги закончатся, ключи организации перестанут работать, пока баланс не пополнят.',
          ...linked('Пополнить баланс:', link),
        ],
      }
    }
    case 'budget_reached': {
      const { budgets, more } = content.vars
      const [first] = budgets
      return {
        subject:
          budgets.length + more === 1 && first !== undefined
            ? `${first.key === null ? `Организация ${organization}` : `Ключ ${first.key}`}: потрачено ${first.percent} % бюджета`
            : `Бюджеты организации ${organization}`,
        paragraphs: [
          `Потрачена заметная часть бюджетов организации ${organization}:`,
          ...budgets.map(budgetInRussian),
          ...(more > 0 ? [`Ещё бюджетов: ${more}.`] : []),
          'Когда бюджет исчерпан, запросы, которые в нём считаются, отклоняются, пока не начнётся следующий период или бюджет не увеличат.',
          ...linked('Посмотреть бюджеты:', link),
          stopInRussian,
        ],
      }
    }
    case 'spend_spike': {
      const { spent, median } = content.vars
      return {
        subject: `Необычные расходы организации ${organization}`,
        paragraphs: [
          `Сегодня организация ${organization} потратила ${rublesInRussian(spent)}. Это более чем втрое больше обычного: медиана за семь предыдущих дней — ${rublesInRussian(median)}.`,
          ...linked('Посмотреть расходы:', link),
          stopInRussian,
        ],
      }
    }
    case 'notification_test':
      return {
        subject: `Проверка уведомлений организации ${organization}`,
        paragraphs: [
          `Это проверочное письмо. Так придут уведомления организации ${organization}.`,
          ...linked('Настройки уведомлений:', link),
        ],
      }
  }
}

export function draftAlertInEnglish(content: Content): Draft {
  const { organization, link } = content.vars
  switch (content.kind) {
    case 'low_balance': {
      const { balance, threshold } = content.vars
      return {
        subject: `The balance of ${organization} is below ${rublesInEnglish(threshold)}`,
        paragraphs: [
          `The balance of the organization ${organization} is ${rublesInEnglish(balance)}. You asked for an email when it falls below ${rublesInEnglish(threshold)}.`,
          "When the balance runs out, the organization's keys stop working until you top it up.",
          ...linked('Top up:', link),
        ],
      }
    }
    case 'budget_reached': {
      const { budgets, more } = content.vars
      const [first] = budgets
      return {
        subject:
          budgets.length + more === 1 && first !== undefined
            ? `${first.key === null ? `Organization ${organization}` : `Key ${first.key}`}: ${first.percent}% of the budget spent`
            : `Budgets of ${organization}`,
        paragraphs: [
          `A large part of these budgets of the organization ${organization} is spent:`,
          ...budgets.map(budgetInEnglish),
          ...(more > 0 ? [`More budgets: ${more}.`] : []),
          'Once a budget is spent, requests that count in it are rejected until the next period begins or the budget is raised.',
          ...linked('See the budgets:', link),
          stopInEnglish,
        ],
      }
    }
    case 'spend_spike': {
      const { spent, median } = content.vars
      return {
        subject: `Unusual spending of ${organization}`,
        paragraphs: [
          `The organization ${organization} has spent ${rublesInEnglish(spent)} today. That is more than three times as much as usual: the median of the seven days before is ${rublesInEnglish(median)}.`,
          ...linked('See what it was spent on:', link),
          stopInEnglish,
        ],
      }
    }
    case 'notification_test':
      return {
        subject: `Test notification of ${organization}`,
        paragraphs: [
          `This is a test. Notifications of the organization ${organization} arrive like this.`,
          ...linked('Notification settings:', link),
        ],
      }
  }
}

const stopInRussian = 'Отключить такие письма можно в настройках, в разделе «Уведомления».'
const stopInEnglish = 'You can turn off these emails in the settings, under "Notifications".'

const namesInRussian = { daily: 'на день', weekly: 'на неделю', monthly: 'на месяц', total: 'на всё время' }
const namesInEnglish = { daily: 'daily', weekly: 'weekly', monthly: 'monthly', total: 'total' }

function budgetInRussian({ key, budget, percent, spent, limit }: Budget): string {
  return `${key ?? 'Вся организация'}: ${percent} % бюджета ${namesInRussian[budget]}, ${rublesInRussian(spent)} из ${rublesInRussian(limit)}`
}

function budgetInEnglish({ key, budget, percent, spent, limit }: Budget): string {
  return `${key ?? 'The whole organization'}: ${percent}% of the ${namesInEnglish[budget]} budget, ${rublesInEnglish(spent)} of ${rublesInEnglish(limit)}`
}

function linked(text: string, link: string | undefined): readonly (string | { readonly link: string })[] {
  return link === undefined ? [] : [text, { link }]
}
