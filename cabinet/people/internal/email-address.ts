import { createHmac, hkdfSync } from 'node:crypto'
import { z } from 'zod'
import { plainPassword } from './password.ts'

/** One that letters can be sent to; what lists and headers are made of is not in it, nor what cannot be seen. */
const addressPattern = /^[^\p{C}\p{Z}<>(),;:\\"@[\]]+@[^\p{C}\p{Z}<>(),;:\\"@[\]]+$/u

/** RFC 5321, section 4.5.3.1.3, without the brackets. */
const addressLengthMax = 254

/** An email address as somebody types it; blanks around it do not count. */
export const emailAddress = z
  .string()
  .max(1_000)
  .transform((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''))
  .pipe(z.string().max(addressLengthMax).regex(addressPattern))
  .meta({ type: 'string', format: 'email', maxLength: addressLengthMax })

const passwordLengthMin = 12
const passwordLengthMax = 128

/** A new password: 12 to 128 characters, whatever they are. */
export const newPassword = z
  .string()
  .superRefine((text, context) => {
    const length = [...plainPassword(text)].length
    const issue = { origin: 'string', inclusive: true, input: text } as const
    if (length < passwordLengthMin)
      context.addIssue({ ...issue, code: 'too_small', minimum: passwordLengthMin })
    if (length > passwordLengthMax)
      context.addIssue({ ...issue, code: 'too_big', maximum: passwordLengthMax })
  })
  .meta({ minLength: passwordLengthMin, maxLength: passwordLengthMax })

const gmail = /^(?:gmail|googlemail)\.com$/

/** Whose mailbox an address is: case, what follows a `+` and the dots of Gmail make no other one. Pure. */
export function normalisedAddress(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1).toLowerCase()
  const mailbox = (email.slice(0, at).toLowerCase().split('+')[0] ?? '') || email.slice(0, at).toLowerCase()
  return gmail.test(domain) ? `${mailbox.replaceAll('.', '')}@gmail.com` : `${mailbox}@${domain}`
}

/** Stands for a mailbox in `bonuses`, for life: the pepper never changes, and without it nobody can try addresses. */
export function addressHash(email: string, keyPepper: string): Buffer {
  const key = Buffer.from(hkdfSync('sha256', keyPepper, '', 'model-gateway/bonus-address', 32))
  return createHmac('sha256', key).update(normalisedAddress(email)).digest()
}
