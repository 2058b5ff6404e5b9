import type { NanoRub } from '#core/ledger/money'

/** A payment as the provider has it now. The content of notifications is never used. */
export type FetchedPayment = {
  readonly id: string
  readonly status: 'pending' | 'waiting_for_capture' | 'succeeded' | 'canceled'
  /** Whether the provider reports that the money has arrived. */
  readonly isPaid: boolean
  /** When the provider captured it; `undefined` if it did not, or if it reports no time. */
  readonly capturedAt: string | undefined
  /** `undefined`: not an amount of whole kopecks. */
  readonly amount: NanoRub | undefined
  readonly currency: string
  readonly refunded: NanoRub
  /** The shop that receives it. */
  readonly shopId: string | undefined
  readonly isTest: boolean
  /** Our ID, as we sent it. */
  readonly paymentId: string | undefined
  readonly confirmationUrl: string | undefined
  readonly cancellationReason: string | undefined
  /** The card, if the provider saved it for further payments. */
  readonly savedCard?: SavedCard | undefined
}

/** A card that the provider charges again by its ID. We never see its number. */
export type SavedCard = {
  readonly methodId: string
  readonly brand: string
  readonly last4: string
  /** The last month in which it works: `2030-12`. */
  readonly expires: string
}

/** A refund as the provider has it now. */
export type FetchedRefund = {
  readonly id: string
  /** The provider's id of its payment. */
  readonly payment: string
  readonly status: 'pending' | 'succeeded' | 'canceled'
  readonly amount: NanoRub | undefined
  readonly currency: string
  /** Our ID, if we created the refund. */
  readonly refundId: string | undefined
  readonly cancellationReason: string | undefined
}

/** The outcome of a call. Only `unknown` is repeated, with the same key and body. */
export type Answer<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  /** This call was not carried out and never will be. An earlier call with the same key may have been. */
  | { readonly kind: 'refused'; readonly code: string }
  /** The call may have been carried out. */
  | {
      readonly kind: 'unknown'
      readonly why: string
      readonly retryAfterMs: number
      /** The response contained an object of moved money in an unknown format, which cannot be posted. */
      readonly unreadable?: Unreadable
    }

/** A payment that was paid, or a refund that was created, of which nothing more could be read. */
export type Unreadable = {
  readonly id: string
  /** The provider's status. */
  readonly status: string
  /** For a refund: the provider's ID of its payment, if it could be read. */
  readonly payment: string | undefined
}

/** The items of a list. An unreadable object does not hide the others. */
export type Listed<Item> = { readonly items: readonly Item[]; readonly unreadable: readonly Unreadable[] }

/** Reason of `unknown` for a list with more items than are read. A part of its time span has fewer. */
export const listTooLong = 'a list has more items than are read at once'

/** Default limit of a list. Longer lists are read in parts. */
export const listItemsMax = 10_000

/** Whether the provider has nothing with the requested ID, and never will. Pure. */
export function isUnheardOf(answer: Answer<unknown>): boolean {
  return answer.kind === 'refused' && (answer.code === 'not_found' || answer.code === 'invalid_request')
}

/** The payment provider. No method throws because of the provider or the network. */
export type Provider = {
  /** @param body from `paymentBody`, the same on every attempt */
  create(paymentId: string, body: string): Promise<Answer<FetchedPayment>>
  get(providerId: string): Promise<Answer<FetchedPayment>>
  /** Payments created in a time span, in any order. Lists longer than `itemsMax` are `unknown` as a whole. */
  list(from: Date, to: Date, itemsMax: number): Promise<Answer<Listed<FetchedPayment>>>
  capture(payment: {
    readonly providerId: string
    readonly paymentId: string
  }): Promise<Answer<FetchedPayment>>
  cancel(payment: {
    readonly providerId: string
    readonly paymentId: string
  }): Promise<Answer<FetchedPayment>>
  /** @param body from `refundBody`, the same on every attempt */
  refund(refundId: string, body: string): Promise<Answer<FetchedRefund>>
  getRefund(providerId: string): Promise<Answer<FetchedRefund>>
  /**
   * Refunds created in a time span, of payments of any age, in any order. Lists longer than `itemsMax` are `unknown`
   * as a whole.
   */
  listRefundsMade(from: Date, to: Date, itemsMax: number): Promise<Answer<Listed<FetchedRefund>>>
  /** Refunds of one payment. */
  listRefunds(providerId: string): Promise<Answer<Listed<FetchedRefund>>>
}
