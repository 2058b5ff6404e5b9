import type { NanoRub } from '../../ledger/money.ts'

/** A payment as the provider has it now. What a notification says of it is not asked. */
export type FetchedPayment = {
  readonly id: string
  readonly status: 'pending' | 'waiting_for_capture' | 'succeeded' | 'canceled'
  /** `undefined`: no amount of whole kopecks. */
  readonly amount: NanoRub | undefined
  readonly currency: string
  readonly refunded: NanoRub
  /** To which shop it goes. */
  readonly shopId: string | undefined
  readonly isTest: boolean
  /** Our id, as we have told it. */
  readonly paymentId: string | undefined
  readonly confirmationUrl: string | undefined
  readonly cancellationReason: string | undefined
}

/** A refund as the provider has it now. */
export type FetchedRefund = {
  readonly id: string
  /** The provider's id of its payment. */
  readonly payment: string
  readonly status: 'pending' | 'succeeded' | 'canceled'
  readonly amount: NanoRub | undefined
  readonly currency: string
  /** Our id, where we made it. */
  readonly refundId: string | undefined
  readonly cancellationReason: string | undefined
}

/** What became of a call. Only `unknown` is repeated, with the same key and the same words. */
export type Answer<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  /** This call was not done, and never will be; one before it, with the same key, may have been. */
  | { readonly kind: 'refused'; readonly code: string }
  /** It may have been done. */
  | {
      readonly kind: 'unknown'
      readonly why: string
      readonly retryAfterMs: number
      /** The answer was an object of money that moved, in a shape that nobody here can book. */
      readonly unreadable?: Unreadable
    }

/** A payment that was paid, or a refund that was made, of which no more could be read. */
export type Unreadable = {
  readonly id: string
  /** As the provider has it. */
  readonly status: string
  /** Of a refund: the provider's id of its payment, where that could be read. */
  readonly payment: string | undefined
}

/** What a list holds. One object that cannot be read hides none of the others. */
export type Listed<Item> = { readonly items: readonly Item[]; readonly unreadable: readonly Unreadable[] }

/** Why a list is unknown that has more than is read of one: a part of its span has fewer. */
export const listTooLong = 'a list of more than is read at once'

/** Whether the provider has nothing of the id that it was asked for, and never will. Pure. */
export function isUnheardOf(answer: Answer<unknown>): boolean {
  return answer.kind === 'refused' && (answer.code === 'not_found' || answer.code === 'invalid_request')
}

/** Where people pay. No method throws for what the provider or the network does. */
export type Provider = {
  /** @param body from `paymentBody`, the same at each try */
  create(paymentId: string, body: string): Promise<Answer<FetchedPayment>>
  get(providerId: string): Promise<Answer<FetchedPayment>>
  /** Payments made in a span, oldest or newest first as the provider likes. */
  list(from: Date, to: Date): Promise<Answer<Listed<FetchedPayment>>>
  capture(payment: {
    readonly providerId: string
    readonly paymentId: string
  }): Promise<Answer<FetchedPayment>>
  cancel(payment: {
    readonly providerId: string
    readonly paymentId: string
  }): Promise<Answer<FetchedPayment>>
  /** @param body from `refundBody`, the same at each try */
  refund(refundId: string, body: string): Promise<Answer<FetchedRefund>>
  getRefund(providerId: string): Promise<Answer<FetchedRefund>>
  /** Refunds made in a span, of payments of any age, in any order. */
  listRefundsMade(from: Date, to: Date): Promise<Answer<Listed<FetchedRefund>>>
  /** Of one payment. */
  listRefunds(providerId: string): Promise<Answer<Listed<FetchedRefund>>>
}
