import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { plainPassword } from './password.ts'

/** One that letters can be sent to; what lists and headers are made of is not in it, nor what cannot be seen. */
const addressPattern = /^[^\p{C}\p{Z}<>(),;:\\"@[\]]+@[^\p{C}\p{Z}<>(),;:\\"@[\]/?#%]+$/u

/** RFC 5321, section 4.5.3.1.3, without the brackets. */
const addressLengthMax = 254

/** An email address as somebody types it; blanks around it do not count. */
export const emailAddress = z
  .string()
  .max(1_000)
  .transform((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''))
  .pipe(z.string().max(addressLengthMax).regex(addressPattern).refine(hasDomain))
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

/** A domain with a dot at its end, or two in a row, is another spelling at best. */
function hasDomain(email: string): boolean {
  const domain = domainOf(email)
  return domain.split('.').every((label) => label !== '') && domainToASCII(domain) !== ''
}

/** What stands behind the last `@`. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}
