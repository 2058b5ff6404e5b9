import { z } from 'zod'

/** Languages of letters and pages. */
export const locale = z.enum(['ru', 'en'])

/** A password to compare, not to keep: what does not fit is wrong, whatever its length. */
export const password = z.string().max(1_000)

/** Of a link in a letter. */
export const token = z.string().max(256)

/** Six digits; people type blanks into them. */
export const totpCode = z
  .string()
  .max(32)
  .transform((text) => text.replace(/\s/g, ''))
  .pipe(z.string().regex(/^\d{6}$/))
  .meta({ type: 'string', pattern: '^\\d{6}$' })

const recoveryCode = z.string().min(1).max(64)

/** One of the two. */
export const secondFactor = z
  .strictObject({ code: totpCode.optional(), recovery_code: recoveryCode.optional() })
  .refine(hasOneFactor, { error: 'code | recovery_code', path: ['code'] })

export type SecondFactor = { readonly code?: string | undefined; readonly recovery_code?: string | undefined }

export function hasOneFactor({ code, recovery_code }: SecondFactor): boolean {
  return (code === undefined) !== (recovery_code === undefined)
}
