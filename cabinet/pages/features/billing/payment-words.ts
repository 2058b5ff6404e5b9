import type { Answer } from '../../api/calls.ts'
import { useWords } from '../../i18n/language.ts'
import type { Tone } from '../../kit/badge.tsx'
import { billingWords } from './messages.ts'

export type Payment = Answer<'GET /payments/:payment_id'>

export const paymentTones: Readonly<Record<Payment['status'], Tone>> = {
  pending: 'warning',
  waiting_for_capture: 'accent',
  succeeded: 'success',
  canceled: 'danger',
  partially_refunded: 'neutral',
  refunded: 'neutral',
}

/** Why a payment was canceled, as a message. The codes are the provider's, and it may add new ones. */
export function useReason(): (code: string | null) => string {
  const words = useWords(billingWords)
  return (code) => (code === null ? undefined : words.reasons[code]) ?? words.otherReason
}
