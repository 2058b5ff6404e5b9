import { createTransport } from 'nodemailer'
import type { Sender, SmtpServer } from '../settings.ts'
import type { DueLetter } from './due-letters.ts'
import type { LetterText } from './letters.ts'

/** Longest steps of one try: a stalled server delays what is behind it, and the lease must outlast the whole try. */
const connectMsMax = 10_000
const silenceMsMax = 10_000
/** Longest try in all, however slowly the server goes on. */
export const tryMsMax = 30_000

/** Hands letters to the relay. */
export type PostOffice = {
  /**
   * Resolves once the relay has accepted the letter. Its Message-ID is the same at every try, so that whoever gets two
   * copies can tell.
   *
   * @throws Error of nodemailer, after `tryMsMax` at the latest. It may repeat the address: log its codes only.
   */
  send(letter: Pick<DueLetter, 'id' | 'kind' | 'recipient' | 'createdAt'>, text: LetterText): Promise<void>
}

/** A connection for each letter: there are few, and an idle one would have to be watched. */
export function createPostOffice({ host, port, isSecure, login }: SmtpServer, from: Sender): PostOffice {
  const transport = createTransport({
    host,
    port,
    secure: isSecure,
    // Neither the password nor, with it, any letter goes over a line that somebody has talked out of TLS.
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
    async send({ id, kind, recipient, createdAt }, { subject, text, html }) {
      await transport.sendMail({
        messageId: `<${id}@${idHost}>`,
        date: createdAt,
        from,
        to: { name: '', address: recipient }, // an object: its text is not looked through for further addresses
        subject,
        text,
        html,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Letter-Kind': kind },
        xMailer: false,
        signal: AbortSignal.timeout(tryMsMax),
      })
    },
  }
}
