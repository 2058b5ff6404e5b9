import { formatRub, type NanoRub } from '../../ledger/money.ts'

/** What a receipt of 54-FZ says of each sale; an accountant decides. */
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
  /** To whom the receipt goes. */
  readonly email: string
  readonly receipt: ReceiptSettings | undefined
}

/** What the person who pays and the receipt read. */
const description = 'Пополнение баланса Model Gateway'

/** The call that makes a payment. Pure, and kept with the payment: the same key never goes with other words. */
export function paymentBody(sale: Sale & { readonly returnUrl: string }): string {
  return JSON.stringify({
    amount: amountOf(sale.amount),
    capture: true, // two stages unless it is said
    confirmation: { type: 'redirect', return_url: sale.returnUrl },
    description,
    metadata: { payment_id: sale.id },
    ...receiptOf(sale),
  })
}

/** The call that makes a refund. A whole one takes the receipt of its payment. Pure. */
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
          ...{ description, quantity: 1, amount: amountOf(amount), vat_code: vatCode, measure: 'piece' },
          ...{ payment_subject: paymentSubject, payment_mode: paymentMode },
        },
      ],
      internet,
      ...(timezone === undefined ? {} : { timezone }),
      ...(taxSystemCode === undefined ? {} : { tax_system_code: taxSystemCode }),
    },
  }
}

/** Two decimals, whatever they are. */
function amountOf(amount: NanoRub): { value: string; currency: 'RUB' } {
  const [whole, fraction = ''] = formatRub(amount).split('.')
  return { value: `${whole}.${fraction.padEnd(2, '0')}`, currency: 'RUB' }
}
