import { z } from 'zod'
import { rublesSetting } from '#core/ledger/money-setting'
import { httpUrlSetting } from '#core/process/environment'
import type { ReceiptSettings } from './internal/call-body.ts'
import type { YookassaAccess } from './internal/yookassa.ts'

/** The shop that receives the money, and the fields of its receipts. */
export type ShopSettings = YookassaAccess &
  ShopTerms & {
    /** Its payments move no real money. */
    readonly isTest: boolean
  }

/** What a payment is recorded with. */
export type ShopTerms = {
  /** Whether the provider has allowed the shop to save cards and to charge them; default no. */
  readonly savesCards?: boolean
  /** `undefined`: no receipts are sent to the provider. */
  readonly receipt: ReceiptSettings | undefined
}

const wholeUpTo = (max: number) => z.coerce.number().pipe(z.int().min(1).max(max))

/** Settings of a process that records payments, and does not call the provider. */
export const shopTermsSettings = {
  /** The shop. Without it payments are off. Processes that call the provider also need its secret key. */
  YOOKASSA_SHOP_ID: z
    .string()
    .regex(/^\d{1,32}$/, 'must be the shop ID, which has only digits')
    .optional(),
  /** Whether payers may save a card for automatic top-ups. The provider must have allowed the shop to do so. */
  YOOKASSA_SAVED_CARDS: z.stringbool().default(false),
  /** VAT code of fiscal receipts, 1 to 12. Without it no receipts are sent. An accountant decides this and the next ones. */
  RECEIPT_VAT_CODE: wholeUpTo(12).optional(),
  /** Tax system code, 1 to 6. */
  RECEIPT_TAX_SYSTEM_CODE: wholeUpTo(6).optional(),
  /** Payment subject. */
  RECEIPT_PAYMENT_SUBJECT: z.string().min(1).max(64).default('service'),
  /** `full_prepayment` or `full_payment`. */
  RECEIPT_PAYMENT_MODE: z.enum(['full_prepayment', 'full_payment']).default('full_prepayment'),
  /** Tag 1125: a payment on the internet. */
  RECEIPT_INTERNET: z.stringbool().default(true),
  /** Tag 1011: time zone, 1 to 11. */
  RECEIPT_TIMEZONE: wholeUpTo(11).optional(),
}

/** Settings of every process that calls the provider. */
export const shopSettings = {
  ...shopTermsSettings,
  /** Secret key of the shop; one that begins with `test_` belongs to a test shop. */
  YOOKASSA_SECRET_KEY: z.string().min(8, 'must be at least 8 characters long').optional(),
  /** The payment provider's API. */
  YOOKASSA_URL: httpUrlSetting.default('https://api.yookassa.ru/v3'),
}

type TermsData = z.output<z.ZodObject<typeof shopTermsSettings>>
type Data = z.output<z.ZodObject<typeof shopSettings>>

/** Test shops have their own keys, which begin with this. */
const testKeyStart = 'test_'

/** The shop, or `undefined` if payments are not configured. Call `refuseHalfAShop` to reject incomplete settings. */
export function shopOf(data: Data): ShopSettings | undefined {
  const { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: secretKey, YOOKASSA_URL: url } = data
  if (shopId === undefined || secretKey === undefined) return undefined
  const isTest = secretKey.startsWith(testKeyStart)
  return { url, shopId, secretKey, isTest, ...termsOf(data) }
}

/** The terms of the shop, or `undefined` if payments are not configured. */
export function shopTermsOf(data: TermsData): ShopTerms | undefined {
  return data.YOOKASSA_SHOP_ID === undefined ? undefined : termsOf(data)
}

function termsOf(data: TermsData): ShopTerms {
  return { savesCards: data.YOOKASSA_SAVED_CARDS, receipt: receiptOf(data) }
}

function receiptOf(data: TermsData): ReceiptSettings | undefined {
  const { RECEIPT_VAT_CODE: vatCode } = data
  if (vatCode === undefined) return undefined
  return {
    vatCode,
    taxSystemCode: data.RECEIPT_TAX_SYSTEM_CODE,
    paymentSubject: data.RECEIPT_PAYMENT_SUBJECT,
    paymentMode: data.RECEIPT_PAYMENT_MODE,
    internet: data.RECEIPT_INTERNET,
    timezone: data.RECEIPT_TIMEZONE,
  }
}

/** Reports the missing setting if only one of a shop's two settings is present. */
export function refuseHalfAShop(data: Data, context: z.core.$RefinementCtx): void {
  const { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: secretKey } = data
  if ((shopId === undefined) === (secretKey === undefined)) return
  context.addIssue({
    code: 'custom',
    path: [shopId === undefined ? 'YOOKASSA_SHOP_ID' : 'YOOKASSA_SECRET_KEY'],
  })
}

/** The largest card payment that the provider accepts. */
const topUpMaxDefault = '350000'

/** Largest top-up, in whole rubles. At least the smallest top-up, 100 ₽. */
export const topUpMaxSetting = z
  .string()
  .regex(/^\d{3,7}$/, 'must be a whole number of rubles from 100 to 9999999')
  .refine((text) => Number(text) >= 100, 'must be at least 100')
  .default(topUpMaxDefault)
  .pipe(rublesSetting)
