import { createTransport } from 'nodemailer'
import type { Sender, SmtpServer } from '../mail-settings.ts'
import type { DueLetter } from './due-letters.ts'
import type { LetterText } from './letters.ts'

/**
 * Timeouts of one attempt's steps. A stalled server delays the emails behind it, and the lease must outlast the
 * attempt.
 */
const connectMsMax = 10_000
const silenceMsMax = 10_000
/** Timeout of a whole attempt, however slowly the server responds. */
export const tryMsMax = 30_000

/** Hands emails to the relay. */
export type PostOffice = {
  /**
   * Resolves once the relay has accepted the email. The Message-ID is the same on every attempt, so that recipients
   * can recognize duplicates.
   *
   * @param ending aborts the attempt. The relay may then have the email, as after a crash.
   * @throws Error of nodemailer, after `tryMsMax` at the latest. It may repeat the address: log only its codes.
   */
  send(
    letter: Pick<DueLetter, 'id' | 'kind' | 'recipient' | 'createdAt'>,
    text: LetterText,
    ending: AbortSignal,
  ): Promise<void>
}

/** One connection per email. There are few emails, and an idle connection would need monitoring. */
export function createPostOffice({ host, port, isSecure, login }: SmtpServer, from: Sender): PostOffice {
  const transport = createTransport({
    host,
    port,
    secure: isSecure,
    // Never send the password or an email over a connection that an attacker has downgraded from TLS.
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password }, requireTLS: true }),
    connectionTimeout: connectMsMax,
    greetingTimeout: connectMsMax,
    dnsTimeout: connectMsMax,
    socketTimeout: silenceMsMax,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const idHost = from.address.slice(from.address.lastIndexOf('@') + 1)
  return {
    async send({ id, kind, recipient, createdAt }, { subject, text, html }, ending) {
      await transport.sendMail({
        messageId: `<${id}@${idHost}>`,
        date: createdAt,
        from,
        to: { name: '', address: recipient }, // an object, so that nodemailer does not parse its text for further addresses
        subject,
        text,
        html,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Letter-Kind': kind },
        xMailer: false,
        signal: AbortSignal.any([AbortSignal.timeout(tryMsMax), ending]),
      })
    },
  }
}
