import { z } from 'zod'
import { findRub, nanoRub } from '../ledger/money.ts'
import { httpUrlSetting } from '../process/environment.ts'
import type { ReceiptSettings } from './internal/call-body.ts'
import type { YookassaAccess } from './internal/yookassa.ts'

/** Whose shop takes the money, and what its receipts say. */
export type ShopSettings = YookassaAccess & {
  /** Of payments that move no money. */
  readonly isTest: boolean
  /** `undefined`: the provider is sent no receipts. */
  readonly receipt: ReceiptSettings | undefined
}

const wholeUpTo = (max: number) => z.coerce.number().pipe(z.int().min(1).max(max))

/** Settings of every process that asks the provider. */
export const shopSettings = {
  YOOKASSA_SHOP_ID: z
    .string()
    .regex(/^\d{1,32}$/, 'must be the digits of a shop')
    .optional(),
  YOOKASSA_SECRET_KEY: z.string().min(8, 'must be at least 8 characters long').optional(),
  YOOKASSA_URL: httpUrlSetting.default('https://api.yookassa.ru/v3'),
  RECEIPT_VAT_CODE: wholeUpTo(12).optional(),
  RECEIPT_TAX_SYSTEM_CODE: wholeUpTo(6).optional(),
  RECEIPT_PAYMENT_SUBJECT: z.string().min(1).max(64).default('service'),
  RECEIPT_PAYMENT_MODE: z.enum(['full_prepayment', 'full_payment']).default('full_prepayment'),
  RECEIPT_INTERNET: z.stringbool().default(true),
  RECEIPT_TIMEZONE: wholeUpTo(11).optional(),
}

type Data = z.output<z.ZodObject<typeof shopSettings>>

/** Test shops have keys of their own, which begin with this. */
const testKeyStart = 'test_'

/** The shop, or `undefined` where there is none: nobody can pay then. Refuse one half of its two names with `shopProblem`. */
export function shopOf(data: Data): ShopSettings | undefined {
  const { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: secretKey, YOOKASSA_URL: url } = data
  if (shopId === undefined || secretKey === undefined) return undefined
  const { RECEIPT_VAT_CODE: vatCode } = data
  return {
    ...{ url, shopId, secretKey, isTest: secretKey.startsWith(testKeyStart) },
    receipt:
      vatCode === undefined
        ? undefined
        : {
            vatCode,
            taxSystemCode: data.RECEIPT_TAX_SYSTEM_CODE,
            paymentSubject: data.RECEIPT_PAYMENT_SUBJECT,
            paymentMode: data.RECEIPT_PAYMENT_MODE,
            internet: data.RECEIPT_INTERNET,
            timezone: data.RECEIPT_TIMEZONE,
          },
  }
}

/** Names the setting that is missing where only one of a shop's two is there. */
export function refuseHalfAShop(data: Data, context: z.core.$RefinementCtx): void {
  const { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: secretKey } = data
  if ((shopId === undefined) === (secretKey === undefined)) return
  context.addIssue({
    code: 'custom',
    path: [shopId === undefined ? 'YOOKASSA_SHOP_ID' : 'YOOKASSA_SECRET_KEY'],
  })
}

/** The largest payment by card that the provider takes. */
const topUpMaxDefault = '350000'

/** Largest top-up, in whole roubles; at least the smallest one, 100 ₽. */
export const topUpMaxSetting = z
  .string()
  .regex(/^\d{3,7}$/, 'must be a whole number of roubles from 100 to 9999999')
  .refine((text) => Number(text) >= 100, 'must be at least 100')
  .default(topUpMaxDefault)
  .transform((text) => findRub(text) ?? nanoRub(0n))
