import { isIP } from 'node:net'
import { z } from 'zod'
import type { Refusal } from './refusal.ts'
import { divideRounded, kopecksOf, rubPattern } from './rub.ts'

const amountContract = z.strictObject({
  value: z.string().regex(rubPattern, 'Two decimals after a dot'),
  currency: z.literal('RUB'),
})

const metadataContract = z
  .record(z.string().max(32), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'At most 16 keys')

const measures = [
  'piece',
  'gram',
  'kilogram',
  'ton',
  'centimeter',
  'decimeter',
  'meter',
  'square_centimeter',
  'square_decimeter',
  'square_meter',
  'milliliter',
  'liter',
  'cubic_meter',
  'kilowatt_hour',
  'gigacalorie',
  'day',
  'hour',
  'minute',
  'second',
  'kilobyte',
  'megabyte',
  'gigabyte',
  'terabyte',
  'another',
]

const paymentSubjects = [
  'commodity',
  'excise',
  'job',
  'service',
  'gambling_bet',
  'gambling_prize',
  'lottery',
  'lottery_prize',
  'intellectual_activity',
  'payment',
  'agent_commission',
  'property_right',
  'non_operating_gain',
  'insurance_premium',
  'sales_tax',
  'resort_fee',
  'composite',
  'another',
  'fine',
  'tax',
  'lien',
  'cost',
  'pension_insurance_without_payouts',
  'pension_insurance_with_payouts',
  'health_insurance',
  'health_insurance_without_payouts',
  'health_insurance_with_payouts',
  'casino',
  'agent_withdrawals',
  'non_marked_excise',
  'marked_excise',
  'marked',
  'non_marked',
]

/** Marked goods, agents and foreign goods are not supported here. */
const receiptItemContract = z.strictObject({
  description: z.string().min(1).max(128),
  /** Older documentation has it as text. */
  quantity: z
    .union([z.number(), z.string()])
    .transform(String)
    .pipe(
      z
        .string()
        .regex(/^\d{1,5}(?:\.\d{1,3})?$/)
        .refine((quantity) => Number(quantity) > 0),
    ),
  /** Per unit. */
  amount: amountContract,
  vat_code: z.int().min(1).max(12),
  measure: z.enum(measures),
  payment_subject: z.enum(paymentSubjects).optional(),
  payment_mode: z.enum(['full_prepayment', 'full_payment']).optional(),
})

/** For "Чеки от ЮKassa", the provider's own receipts. */
const receiptContract = z.strictObject({
  customer: z.strictObject({
    email: z.email().max(254),
    phone: z
      .string()
      .regex(/^\d{4,15}$/)
      .optional(),
    full_name: z.string().max(256).optional(),
    inn: z
      .string()
      .regex(/^(?:\d{10}|\d{12})$/)
      .optional(),
  }),
  items: z.array(receiptItemContract).min(1).max(80),
  internet: z.boolean().optional(),
  timezone: z.int().min(1).max(11).optional(),
  tax_system_code: z.int().min(1).max(6).optional(),
})

export type Receipt = z.infer<typeof receiptContract>

const confirmationContract = z.strictObject({
  type: z.literal('redirect'),
  return_url: z
    .httpUrl()
    .max(2048)
    .or(z.url({ protocol: /^https?$/ }).max(2048)),
  locale: z.enum(['ru_RU', 'en_US']).optional(),
  enforce: z.boolean().optional(),
})

/** Everything that our shop may send. Other features of the provider are rejected. */
const paymentFields = z.strictObject({
  amount: amountContract,
  /** Two stages unless it is true. */
  capture: z.boolean().default(false),
  /** Not with `payment_method_id`: a saved card is charged without its payer. */
  confirmation: confirmationContract.optional(),
  description: z.string().max(128).optional(),
  metadata: metadataContract.default({}),
  receipt: receiptContract.optional(),
  payment_method_data: z
    .strictObject({ type: z.enum(['bank_card', 'yoo_money', 'sbp', 'sberbank', 'tinkoff_bank']) })
    .optional(),
  /** A payment whose card was saved. */
  payment_method_id: z.string().length(36).optional(),
  save_payment_method: z.boolean().optional(),
  client_ip: z
    .string()
    .refine((address) => isIP(address) !== 0)
    .optional(),
  merchant_customer_id: z.string().max(200).optional(),
})

export const createPaymentContract = paymentFields
  .refine((body) => (body.confirmation === undefined) === (body.payment_method_id !== undefined), {
    path: ['confirmation'],
    error: 'Required without payment_method_id only',
  })
  .refine((body) => body.payment_method_id === undefined || body.payment_method_data === undefined, {
    path: ['payment_method_data'],
    error: 'Not allowed with payment_method_id',
  })
  .refine((body) => body.payment_method_id === undefined || body.save_payment_method !== true, {
    path: ['save_payment_method'],
    error: 'Not allowed with payment_method_id',
  })

export const capturePaymentContract = z.strictObject({
  amount: amountContract.optional(),
  receipt: receiptContract.optional(),
})

export const cancelPaymentContract = z.strictObject({})

export const createRefundContract = z.strictObject({
  payment_id: z.string().length(36),
  amount: amountContract,
  description: z.string().max(250).optional(),
  metadata: metadataContract.default({}),
  receipt: receiptContract.optional(),
})

const timeContract = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional()

const pageContract = z.strictObject({
  'created_at.gte': timeContract,
  'created_at.gt': timeContract,
  'created_at.lte': timeContract,
  'created_at.lt': timeContract,
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .default('10')
    .transform(Number)
    .pipe(z.int().min(1).max(100)),
  cursor: z.string().max(64).optional(),
})

export const listPaymentsContract = pageContract.extend({
  'captured_at.gte': timeContract,
  'captured_at.gt': timeContract,
  'captured_at.lte': timeContract,
  'captured_at.lt': timeContract,
  payment_method: z.string().optional(),
  status: z.enum(['pending', 'waiting_for_capture', 'succeeded', 'canceled']).optional(),
})

export const listRefundsContract = pageContract.extend({
  payment_id: z.string().length(36).optional(),
  status: z.enum(['pending', 'succeeded', 'canceled']).optional(),
})

/** The parsed value, or the provider's error for the first invalid field. */
export function read<T extends z.ZodType<object>>(contract: T, value: unknown): z.infer<T> | Refusal {
  const { success, data, error } = contract.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const path = [
    ...(issue?.path ?? []),
    ...(issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []),
  ]
  if (path[0] === 'receipt') return illegalReceipt
  const parameter = path.map(String).join('.')
  const description = `Incorrect request or parameter: ${issue?.message ?? 'unreadable'}`
  return { refused: 400, description, ...(parameter === '' ? {} : { parameter }) }
}

export const illegalReceipt: Refusal = {
  refused: 400,
  description: 'Receipt is missing or illegal',
  parameter: 'receipt',
}

/** Whether the items of a receipt add up to an amount. */
export function isReceiptOf(amount: string, { items }: Receipt): boolean {
  const sum = items.reduce((total, { quantity, amount: price }) => {
    const [whole = '0', thousandths = ''] = quantity.split('.')
    return total + divideRounded(kopecksOf(price.value) * BigInt(whole + thousandths.padEnd(3, '0')), 1000n)
  }, 0n)
  return sum === kopecksOf(amount)
}
