import { domainToASCII } from 'node:url'

/**
 * Mail services that deliver several addresses to one mailbox: their domains, and the parts before `@` that they
 * ignore.
 */
const services: readonly { readonly domains: RegExp; readonly as: string; readonly ignored: RegExp }[] = [
  { domains: /^(?:gmail|googlemail)\.com$/, as: 'gmail.com', ignored: /\./g },
  { domains: /^(?:yandex\.(?:ru|com|by|kz|ua)|ya\.ru|narod\.ru)$/, as: 'yandex.ru', ignored: /[.-]/g },
  { domains: /^(?:proton\.me|protonmail\.com|pm\.me)$/, as: 'proton.me', ignored: /[._-]/g },
  { domains: /^(?:icloud|me|mac)\.com$/, as: 'icloud.com', ignored: /(?!)/g },
]

/** The mailbox of an address. Case, text after `+`, and what the service ignores do not distinguish mailboxes. Pure. */
export function mailboxOf(email: string): string {
  const domain = asciiDomainOf(email)
  const written = email.slice(0, email.lastIndexOf('@')).toLowerCase()
  const mailbox = written.split('+')[0] || written
  const service = services.find(({ domains }) => domains.test(domain))
  return service === undefined
    ? `${mailbox}@${domain}`
    : `${mailbox.replaceAll(service.ignored, '')}@${service.as}`
}

/** The part after the last `@`, in DNS form; empty if it is not a domain. */
export function asciiDomainOf(email: string): string {
  return domainToASCII(domainOf(email))
}

/** The part after the last `@`. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}
