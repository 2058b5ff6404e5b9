import { formatRub, type NanoRub } from '#core/ledger/money'

/** Fields of the 54-FZ receipt of each sale. An accountant decides on them. */
export type ReceiptSettings = {
  readonly vatCode: number
  readonly taxSystemCode: number | undefined
  readonly paymentSubject: string
  readonly paymentMode: 'full_prepayment' | 'full_payment'
  readonly internet: boolean
  readonly timezone: number | undefined
}

type Sale = {
  readonly id: string
  readonly amount: NanoRub
  /** The recipient of the receipt. */
  readonly email: string
  readonly receipt: ReceiptSettings | undefined
}

/** Shown to the payer and on the receipt. */
const description = 'Пополнение баланса Model Gateway'

/**
 * The call that creates a payment. It is stored with the payment, so that an idempotency key is never sent with
 * another body. Pure.
 */
export function paymentBody(
  sale: Sale & {
    readonly returnUrl: string
    /** Whether the provider saves the card; the payer can then pay only by card. */
    readonly savesCard?: boolean
  },
): string {
  return JSON.stringify({
    ...commonOf(sale),
    confirmation: { type: 'redirect', return_url: sale.returnUrl },
    ...(sale.savesCard === true
      ? { save_payment_method: true, payment_method_data: { type: 'bank_card' } }
      : {}),
  })
}

/** The call that charges a saved card. Its payer confirms nothing. Pure. */
export function automaticPaymentBody(sale: Sale & { readonly methodId: string }): string {
  return JSON.stringify({ ...commonOf(sale), payment_method_id: sale.methodId })
}

function commonOf(sale: Sale): object {
  return {
    amount: amountOf(sale.amount),
    capture: true, // payments have two stages by default
    description,
    metadata: { payment_id: sale.id },
    ...receiptOf(sale),
  }
}

/** The call that creates a refund. A full refund uses the receipt of its payment. Pure. */
export function refundBody(sale: Sale & { readonly providerId: string; readonly isWhole: boolean }): string {
  return JSON.stringify({
    payment_id: sale.providerId,
    amount: amountOf(sale.amount),
    metadata: { refund_id: sale.id },
    ...(sale.isWhole ? {} : receiptOf(sale)),
  })
}

function receiptOf({ amount, email, receipt }: Sale): object {
  if (receipt === undefined) return {}
  const { vatCode, taxSystemCode, paymentSubject, paymentMode, internet, timezone } = receipt
  return {
    receipt: {
      customer: { email },
      items: [
        {
          description,
          quantity: 1,
          amount: amountOf(amount),
          vat_code: vatCode,
          measure: 'piece',
          payment_subject: paymentSubject,
          payment_mode: paymentMode,
        },
      ],
      internet,
      ...(timezone === undefined ? {} : { timezone }),
      ...(taxSystemCode === undefined ? {} : { tax_system_code: taxSystemCode }),
    },
  }
}

/** Always with two decimals. */
function amountOf(amount: NanoRub): { value: string; currency: 'RUB' } {
  const [whole, fraction = ''] = formatRub(amount).split('.')
  return { value: `${whole}.${fraction.padEnd(2, '0')}`, currency: 'RUB' }
}
