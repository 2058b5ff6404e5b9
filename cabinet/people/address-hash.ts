import { createHmac, hkdfSync } from 'node:crypto'
import { mailboxOf } from '../mail/mailbox.ts'

/**
 * Permanent identifier of a mailbox in `bonuses`. The pepper never changes, and without it no one can test addresses.
 */
export function addressHash(email: string, keyPepper: string): Buffer {
  const key = Buffer.from(hkdfSync('sha256', keyPepper, '', 'model-gateway/bonus-address', 32))
  return createHmac('sha256', key).update(mailboxOf(email)).digest()
}
