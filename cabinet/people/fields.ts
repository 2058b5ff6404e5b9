import { z } from 'zod'

/** Languages of emails and pages. */
export const locale = z.enum(['ru', 'en'])

/** A password to compare, not to store. If it is too long, it is simply wrong. */
export const password = z.string().max(1_000)

/** The token of an email link. */
export const token = z.string().max(256)

/** Six digits. Users may type blanks between them. */
export const totpCode = z
  .string()
  .max(32)
  .transform((text) => text.replace(/\s/g, ''))
  .pipe(z.string().regex(/^\d{6}$/))
  .meta({ type: 'string', pattern: '^\\d{6}$' })

const recoveryCode = z.string().min(1).max(64)

/** Either of the two. */
export const secondFactor = z
  .strictObject({ code: totpCode.optional(), recovery_code: recoveryCode.optional() })
  .refine(hasOneFactor, { error: 'code | recovery_code', path: ['code'] })

export type SecondFactor = { readonly code?: string | undefined; readonly recovery_code?: string | undefined }

export function hasOneFactor({ code, recovery_code }: SecondFactor): boolean {
  return (code === undefined) !== (recovery_code === undefined)
}
