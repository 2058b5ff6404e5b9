import { reasonInWords } from './cancellation-reasons.ts'
import type { LetterContent } from './letter-content.ts'
import { dayOf, rublesInEnglish, rublesInRussian } from './written-values.ts'

type PaymentLetter = Extract<
  LetterContent,
  {
    readonly kind: 'payment_credited' | 'payment_refunded' | 'payment_canceled' | 'auto_top_up_stopped'
  }
>

type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

/** Emails about payments that were credited, refunded or canceled. Pure. */
export function draftPaymentInRussian({ kind, vars }: PaymentLetter): Draft {
  const amount = rublesInRussian(vars.amount)
  switch (kind) {
    case 'payment_credited':
      return {
        subject: `Баланс пополнен на ${amount}`,
        paragraphs: [
          vars.last4 == null
            ? `Платёж на ${amount} зачислен на баланс организации ${vars.organization}.`
            : `Автопополнение: с карты ${cardOf(vars.last4)} списано ${amount}, сумма зачислена на баланс организации ${vars.organization}.`,
          ...(vars.welcome === null
            ? []
            : [`Вместе с ним начислен приветственный бонус: ${rublesInRussian(vars.welcome)}.`]),
          ...balanceInRussian(vars.balance),
        ],
      }
    case 'payment_refunded':
      return {
        subject: `Возврат ${amount}`,
        paragraphs: [
          `Из платежа организации ${vars.organization} на ${rublesInRussian(vars.paymentAmount)} от ${dayOf(vars.paymentAt, 'ru')} возвращено ${amount}. Эта сумма списана с баланса и вернётся тем же способом, которым был сделан платёж.`,
          ...(vars.welcome === null
            ? []
            : [
                `Остатка платежа недостаточно для приветственного бонуса, поэтому бонус тоже списан: ${rublesInRussian(vars.welcome)}.`,
              ]),
          ...balanceInRussian(vars.balance),
        ],
      }
    case 'payment_canceled':
      return {
        subject: `Платёж на ${amount} не прошёл`,
        paragraphs: [
          `Платёж организации ${vars.organization} на ${amount} не прошёл: ${reasonInWords(vars.reason, 'ru')}.`,
          'Баланс не изменился. Чтобы пополнить его, начните новый платёж.',
        ],
      }
    case 'auto_top_up_stopped':
      return {
        subject: 'Автопополнение остановлено',
        paragraphs: [
          `Автопополнение организации ${vars.organization} на ${amount} с карты ${cardOf(vars.last4)} не прошло: ${reasonInWords(vars.reason, 'ru')}.`,
          'Больше мы ничего не спишем, пока вы снова не включите автопополнение на странице «Баланс».',
          ...linkOf(vars.link),
        ],
      }
  }
}

export function draftPaymentInEnglish({ kind, vars }: PaymentLetter): Draft {
  const amount = rublesInEnglish(vars.amount)
  switch (kind) {
    case 'payment_credited':
      return {
        subject: `Your balance was topped up by ${amount}`,
        paragraphs: [
          vars.last4 == null
            ? `A payment of ${amount} was credited to the balance of the organization ${vars.organization}.`
            : `Automatic top-up: your card ${cardOf(vars.last4)} was charged ${amount}, which was credited to the balance of the organization ${vars.organization}.`,
          ...(vars.welcome === null
            ? []
            : [`A welcome bonus of ${rublesInEnglish(vars.welcome)} was also credited.`]),
          ...balanceInEnglish(vars.balance),
        ],
      }
    case 'payment_refunded':
      return {
        subject: `Refund of ${amount}`,
        paragraphs: [
          `We refunded ${amount} of the payment of ${rublesInEnglish(vars.paymentAmount)} that the organization ${vars.organization} made on ${dayOf(vars.paymentAt, 'en')}. This amount was deducted from the balance and returns to the original payment method.`,
          ...(vars.welcome === null
            ? []
            : [
                `The remaining amount of the payment does not qualify for the welcome bonus, so the bonus of ${rublesInEnglish(vars.welcome)} was also deducted.`,
              ]),
          ...balanceInEnglish(vars.balance),
        ],
      }
    case 'payment_canceled':
      return {
        subject: `Your payment of ${amount} failed`,
        paragraphs: [
          `The payment of ${amount} for the organization ${vars.organization} failed: ${reasonInWords(vars.reason, 'en')}.`,
          'Your balance has not changed. To top it up, start a new payment.',
        ],
      }
    case 'auto_top_up_stopped':
      return {
        subject: 'Automatic top-up stopped',
        paragraphs: [
          `The automatic top-up of ${amount} for the organization ${vars.organization} with the card ${cardOf(vars.last4)} failed: ${reasonInWords(vars.reason, 'en')}.`,
          'We will charge nothing more until you turn automatic top-ups on again on the page "Billing".',
          ...linkOf(vars.link),
        ],
      }
  }
}

function balanceInRussian(balance: string): readonly string[] {
  return [
    `Теперь на балансе ${rublesInRussian(balance)}.`,
    ...(isUsedUp(balance) ? ['Ключи организации не работают, пока баланс не пополнят.'] : []),
  ]
}

function balanceInEnglish(balance: string): readonly string[] {
  return [
    `The balance is now ${rublesInEnglish(balance)}.`,
    ...(isUsedUp(balance) ? ["The organization's keys do not work until you top it up."] : []),
  ]
}

function cardOf(last4: string): string {
  return `•••• ${last4}`
}

function linkOf(link: string | undefined): readonly { readonly link: string }[] {
  return link === undefined ? [] : [{ link }]
}

/** Keys are blocked at 0 and below. */
function isUsedUp(balance: string): boolean {
  return balance === '0' || balance.startsWith('-')
}
