import { reasonInWords } from './cancellation-reasons.ts'
import type { LetterContent } from './letter-content.ts'
import { dayOf, roublesInEnglish, roublesInRussian } from './written-values.ts'

type PaymentLetter = Extract<
  LetterContent,
  { readonly kind: 'payment_credited' | 'payment_refunded' | 'payment_canceled' }
>

type Draft = { readonly subject: string; readonly paragraphs: readonly string[] }

/** What is told of money that came, went back or never came. Pure, as the other one. */
export function draftPaymentInRussian({ kind, vars }: PaymentLetter): Draft {
  const amount = roublesInRussian(vars.amount)
  switch (kind) {
    case 'payment_credited':
      return {
        subject: `Баланс пополнен на ${amount}`,
        paragraphs: [
          `Платёж на ${amount} зачислен на баланс организации ${vars.organization}.`,
          ...(vars.welcome === null
            ? []
            : [`Вместе с ним начислен приветственный бонус: ${roublesInRussian(vars.welcome)}.`]),
          ...balanceInRussian(vars.balance),
        ],
      }
    case 'payment_refunded':
      return {
        subject: `Возврат ${amount}`,
        paragraphs: [
          `Из платежа организации ${vars.organization} на ${roublesInRussian(vars.paymentAmount)} от ${dayOf(vars.paymentAt, 'ru')} возвращено ${amount}. Эта сумма списана с баланса и вернётся туда, откуда был сделан платёж.`,
          ...(vars.welcome === null
            ? []
            : [
                `От платежа осталось меньше, чем нужно для приветственного бонуса, поэтому бонус тоже списан: ${roublesInRussian(vars.welcome)}.`,
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
  }
}

export function draftPaymentInEnglish({ kind, vars }: PaymentLetter): Draft {
  const amount = roublesInEnglish(vars.amount)
  switch (kind) {
    case 'payment_credited':
      return {
        subject: `Your balance was topped up by ${amount}`,
        paragraphs: [
          `A payment of ${amount} was added to the balance of the organization ${vars.organization}.`,
          ...(vars.welcome === null
            ? []
            : [`A welcome bonus of ${roublesInEnglish(vars.welcome)} was added with it.`]),
          ...balanceInEnglish(vars.balance),
        ],
      }
    case 'payment_refunded':
      return {
        subject: `Refund of ${amount}`,
        paragraphs: [
          `Of the payment of ${roublesInEnglish(vars.paymentAmount)} that the organization ${vars.organization} made on ${dayOf(vars.paymentAt, 'en')}, ${amount} was refunded. It was taken from the balance and goes back to where it was paid from.`,
          ...(vars.welcome === null
            ? []
            : [
                `What is left of the payment does not earn the welcome bonus, so the bonus of ${roublesInEnglish(vars.welcome)} was taken back, too.`,
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
  }
}

function balanceInRussian(balance: string): readonly string[] {
  return [
    `Теперь на балансе ${roublesInRussian(balance)}.`,
    ...(isUsedUp(balance) ? ['Ключи организации не работают, пока баланс не пополнят.'] : []),
  ]
}

function balanceInEnglish(balance: string): readonly string[] {
  return [
    `The balance is now ${roublesInEnglish(balance)}.`,
    ...(isUsedUp(balance) ? ["The organization's keys do not work until it is topped up."] : []),
  ]
}

/** Keys are blocked at 0 and below. */
function isUsedUp(balance: string): boolean {
  return balance === '0' || balance.startsWith('-')
}
