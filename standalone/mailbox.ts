import { once } from 'node:events'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import type { LocalPage } from '#cabinet/web/local-page'
import { escapeHtml } from '#core/process/html'
import { listeningPort } from '#core/process/listening-port'

/** An email of the system. Only this machine receives it. */
type KeptLetter = {
  /** ISO 8601. */
  readonly receivedAt: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Links on separate lines. */
  readonly links: readonly string[]
}

/** A mail catcher: it delivers nothing and shows the emails that it receives. */
export type Mailbox = {
  readonly smtpUrl: string
  /** The emails, newest first: as a page, and as JSON for scripts. */
  readonly pages: readonly LocalPage[]
  stop(): Promise<void>
}

export const mailboxPath = '/dev/mailbox'

/** Number of emails kept in memory. */
const keptMax = 100
const letterBytesMax = 1_000_000
const clientCountMax = 20
/** Timeout for open connections when it stops. */
const closeMsMax = 500

/**
 * Starts the mail catcher for the lifetime of this process. By default it listens on a free port on loopback.
 *
 * @param options.tell receives a line for each email.
 */
export async function startMailbox({
  tell,
  host = '127.0.0.1',
  port = 0,
}: {
  readonly tell: (line: string) => void
  readonly host?: string
  readonly port?: number
}): Promise<Mailbox> {
  const kept: KeptLetter[] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: letterBytesMax,
    maxClients: clientCountMax,
    closeTimeout: closeMsMax,
    async onData(stream, { envelope }, answer) {
      try {
        const raw = await readWhole(stream)
        for (const { address } of envelope.rcptTo) {
          const letter = await readLetter(address, raw)
          if (kept.unshift(letter) > keptMax) kept.pop()
          tell(lineOf(letter))
        }
        answer()
      } catch (error) {
        // Not an email, from any client.
        answer(error instanceof Error ? error : new Error('the email cannot be read'))
      }
    },
  })
  server.on('error', () => undefined) // a broken connection
  await once(server.listen(port, host), 'listening')
  return {
    smtpUrl: `smtp://${host}:${listeningPort(server.server)}`,
    pages: [
      { url: mailboxPath, render: () => ({ type: 'text/html; charset=utf-8', body: pageOf(kept) }) },
      {
        url: `${mailboxPath}.json`,
        render: () => ({ type: 'application/json; charset=utf-8', body: JSON.stringify(kept) }),
      },
    ],
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** @throws Error for an email that is too large. Only its beginning was kept. */
async function readWhole(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw Object.assign(new Error('the email is too large'), { responseCode: 552 })
  return Buffer.concat(chunks)
}

async function readLetter(to: string, raw: Buffer): Promise<KeptLetter> {
  const { subject = '', text = '' } = await PostalMime.parse(raw)
  return {
    receivedAt: new Date().toISOString(),
    to,
    subject,
    text,
    links: text.match(/^https?:\/\/\S+$/gm) ?? [],
  }
}

/** For a terminal: always one line, whatever the email contains. */
function lineOf({ to, subject, links }: KeptLetter): string {
  const [link] = links
  return `Email to ${to}: ${subject}${link === undefined ? '' : ` → ${link}`}`.replace(/\p{Cc}+/gu, ' ')
}

function pageOf(letters: readonly KeptLetter[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Mailbox</title>',
    '<meta name="viewport" content="width=device-width"></head>',
    '<body style="font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em">',
    '<h1>Mailbox</h1>',
    `<p>Emails are not delivered. This page shows the last ${keptMax} until the system stops.</p>`,
    ...(letters.length === 0 ? ['<p>No emails yet.</p>'] : letters.map(articleOf)),
    '</body></html>\n',
  ].join('\n')
}

function articleOf({ receivedAt, to, subject, text }: KeptLetter): string {
  const body = escapeHtml(text).replace(/^https?:\/\/\S+$/gm, '<a href="$&">$&</a>')
  return `<article><h2>${escapeHtml(subject)}</h2><p>To ${escapeHtml(to)}, <time>${receivedAt}</time></p>
<pre style="white-space: pre-wrap; font: inherit">${body}</pre></article><hr>`
}
