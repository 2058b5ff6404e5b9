import { createHmac, hkdfSync } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { domainOf } from './internal/email-address.ts'

/** Services that have one mailbox under several addresses: their domains, and what they do not look at before the `@`. */
const services: readonly { readonly domains: RegExp; readonly as: string; readonly ignored: RegExp }[] = [
  { domains: /^(?:gmail|googlemail)\.com$/, as: 'gmail.com', ignored: /\./g },
  { domains: /^(?:yandex\.(?:ru|com|by|kz|ua)|ya\.ru|narod\.ru)$/, as: 'yandex.ru', ignored: /[.-]/g },
  { domains: /^(?:proton\.me|protonmail\.com|pm\.me)$/, as: 'proton.me', ignored: /[._-]/g },
  { domains: /^(?:icloud|me|mac)\.com$/, as: 'icloud.com', ignored: /(?!)/g },
]

/** Whose mailbox an address is: case, what follows a `+` and what its service ignores make no other one. Pure. */
export function normalisedAddress(email: string): string {
  const domain = domainToASCII(domainOf(email))
  const written = email.slice(0, email.lastIndexOf('@')).toLowerCase()
  const mailbox = written.split('+')[0] || written
  const service = services.find(({ domains }) => domains.test(domain))
  return service === undefined
    ? `${mailbox}@${domain}`
    : `${mailbox.replaceAll(service.ignored, '')}@${service.as}`
}

/** Stands for a mailbox in `bonuses`, for life: the pepper never changes, and without it nobody can try addresses. */
export function addressHash(email: string, keyPepper: string): Buffer {
  const key = Buffer.from(hkdfSync('sha256', keyPepper, '', 'model-gateway/bonus-address', 32))
  return createHmac('sha256', key).update(normalisedAddress(email)).digest()
}
