import mailchecker from 'mailchecker'
import { getDomain } from 'tldts'
import { asciiDomainOf } from '../../mail/mailbox.ts'
import { majorMailServices } from './major-mail-services.ts'

/** Whether an address belongs to a disposable email service, or to one of its subdomains. */
export function isDisposable(email: string): boolean {
  const labels = asciiDomainOf(email).split('.')
  const disposable = mailchecker.blacklist()
  return labels.some((_, at) => disposable.has(labels.slice(at).join('.')))
}

/**
 * The domain that counts the trials of an address: a registered domain may have unlimited mailboxes. `null`: a major
 * mail service. Domains that a service gives away below its own count as that service's. Pure.
 */
export function countedDomainOf(email: string): string | null {
  const domain = asciiDomainOf(email)
  const registered = getDomain(domain, { allowPrivateDomains: false }) ?? domain
  return majorMailServices.has(registered) ? null : registered
}
