import { z } from 'zod'
import { refuseField } from '../api/field-refusal.ts'
import { asciiDomainOf, domainOf } from '../mail/mailbox.ts'
import { isDisposable } from './internal/mail-domain.ts'

/** An address for emails. It contains no separators of address lists and headers, and no invisible characters. */
const addressPattern = /^[^\p{C}\p{Z}<>(),;:\\"@[\]]+@[^\p{C}\p{Z}<>(),;:\\"@[\]/?#%]+$/u

/** RFC 5321, section 4.5.3.1.3, without the brackets. */
const addressLengthMax = 254

const form = { type: 'string', format: 'email', maxLength: addressLengthMax } as const

/** An email address as a user types it. Surrounding blanks are ignored. */
export const emailAddress = z
  .string()
  .max(1_000)
  .transform((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''))
  .pipe(z.string().max(addressLengthMax).regex(addressPattern).refine(hasDomain))
  .meta(form)

/** An address that may register: not a disposable one. */
export const lastingAddress = emailAddress
  .superRefine((email, context) => {
    if (isDisposable(email)) refuseField(context, disposable)
  })
  .meta(form)

const disposable = {
  code: 'disposable_email',
  en: 'Disposable addresses of this service are not accepted. Enter another address.',
  ru: 'Адреса этого сервиса не принимаются: они недолговечны. Укажите другой адрес.',
} as const

/** A domain with a trailing dot, or two dots in a row, is at best another spelling. */
function hasDomain(email: string): boolean {
  const labels = domainOf(email).split('.')
  return labels.every((label) => label !== '') && asciiDomainOf(email) !== ''
}
