import type { Locale } from './letter-content.ts'

/**
 * Why a payment was canceled, as the end of a sentence. The codes are YooKassa's ("Declined payments", read
 * 2026-11-22).
 */
const reasons: Readonly<Record<string, Readonly<Record<Locale, string>>>> = {
  '3d_secure_failed': {
    ru: 'подтверждение платежа в банке (3-D Secure) не пройдено',
    en: "the bank's confirmation (3-D Secure) failed",
  },
  blocked: {
    ru: 'организация или владелец карты заблокированы',
    en: 'the organization or the owner of the card is blocked',
  },
  call_issuer: {
    ru: 'банк отклонил его и не назвал причину; её можно узнать в банке',
    en: 'the bank declined it without giving a reason; contact your bank',
  },
  canceled_by_merchant: {
    ru: 'он отменён с нашей стороны',
    en: 'it was canceled on our side',
  },
  card_expired: {
    ru: 'срок действия карты истёк',
    en: 'the card has expired',
  },
  country_forbidden: {
    ru: 'картой, выпущенной в этой стране, заплатить нельзя',
    en: 'cards issued in this country are not accepted',
  },
  deal_expired: {
    ru: 'срок сделки истёк',
    en: 'the deal has expired',
  },
  expired_on_capture: {
    ru: 'время на его подтверждение с нашей стороны истекло',
    en: 'it was not confirmed on our side in time',
  },
  expired_on_confirmation: {
    ru: 'время на оплату истекло',
    en: 'it was not paid in time',
  },
  fraud_suspected: {
    ru: 'платёж показался подозрительным; попробуйте заплатить другим способом',
    en: 'it looked suspicious; use another payment method',
  },
  general_decline: {
    ru: 'он отклонён без указания причины; попробуйте заплатить другим способом или обратитесь в банк',
    en: 'it was declined without a reason; use another payment method or contact your bank',
  },
  identification_required: {
    ru: 'превышен лимит кошелька ЮMoney; заплатите другим способом или подтвердите свои данные в кошельке',
    en: 'the limit of the YooMoney wallet was exceeded; use another payment method or verify your identity in the wallet',
  },
  insufficient_funds: {
    ru: 'на счёте не хватило денег',
    en: 'the account had insufficient funds',
  },
  internal_timeout: {
    ru: 'на стороне платёжной системы произошла ошибка; попробуйте ещё раз',
    en: 'the payment service had a technical problem; try again',
  },
  invalid_card_number: {
    ru: 'номер карты указан неверно',
    en: 'the card number was wrong',
  },
  invalid_csc: {
    ru: 'код CVV2 (CVC2, CID) указан неверно',
    en: 'the CVV2 (CVC2, CID) code was wrong',
  },
  issuer_unavailable: {
    ru: 'банк был недоступен; попробуйте позже или заплатите другим способом',
    en: 'the bank was unavailable; try again later or use another payment method',
  },
  no_outcome: {
    ru: 'платёжная система больше суток не сообщает, прошёл ли предыдущий платёж',
    en: 'the payment service has not reported the outcome of the previous payment for a day',
  },
  payment_method_limit_exceeded: {
    ru: 'превышен лимит платежей этим способом или нашего магазина; попробуйте завтра или заплатите другим способом',
    en: 'a limit of this payment method or of our shop was exceeded; try again tomorrow or use another payment method',
  },
  payment_method_restricted: {
    ru: 'операции этим способом запрещены (например, карта заблокирована); обратитесь в банк',
    en: 'this payment method is restricted (the card may be blocked); contact your bank',
  },
  permission_revoked: {
    ru: 'разрешение на автоматические списания отозвано',
    en: 'permission for automatic payments was revoked',
  },
  unsupported_mobile_operator: {
    ru: 'с номера этого мобильного оператора заплатить нельзя',
    en: 'phone numbers of this mobile operator are not accepted',
  },
}

const unknownReason = {
  ru: 'платёжная система его не приняла; попробуйте ещё раз или заплатите другим способом',
  en: 'the payment service did not accept it; try again or use another payment method',
} as const

/** Explains a code to users. Unknown codes get a general explanation. Pure. */
export function reasonInWords(code: string | null, locale: Locale): string {
  const known = code !== null && Object.hasOwn(reasons, code) ? reasons[code] : undefined
  return (known ?? unknownReason)[locale]
}

/** For tests: every code that has its own explanation. */
export const knownReasons: readonly string[] = Object.keys(reasons)
