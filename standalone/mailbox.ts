import { once } from 'node:events'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import { escapeHtml } from '#cabinet/process/html'
import { listeningPort } from '#cabinet/process/listening-port'
import type { LocalPage } from '#cabinet/web/local-page'

/** A letter that the system has sent to somebody, and that nobody but this machine gets. */
type KeptLetter = {
  /** ISO 8601. */
  readonly receivedAt: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Those that stand on lines of their own. */
  readonly links: readonly string[]
}

/** A mail server that delivers nothing: it shows what it gets. */
export type Mailbox = {
  readonly smtpUrl: string
  /** The letters, newest first: for people, and as JSON for scripts. */
  readonly pages: readonly LocalPage[]
  stop(): Promise<void>
}

export const mailboxPath = '/dev/mailbox'

/** Letters that are kept, in memory. */
const keptMax = 100
const letterBytesMax = 1_000_000
const clientCountMax = 20
/** For connections that are still open when it stops. */
const closeMsMax = 500

/**
 * Starts it, as long as this process lives; on a free port of loopback, unless another place is named.
 *
 * @param options.tell gets a line for each letter.
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
        // Not a letter, whoever sent it.
        answer(error instanceof Error ? error : new Error('the letter cannot be read'))
      }
    },
  })
  server.on('error', () => undefined) // a connection that broke
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

/** @throws Error for a letter that is too large, of which only the beginning was kept until its end. */
async function readWhole(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw Object.assign(new Error('the letter is too large'), { responseCode: 552 })
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

/** For a terminal: whatever a letter holds, it is one line. */
function lineOf({ to, subject, links }: KeptLetter): string {
  const [link] = links
  return `Letter to ${to}: ${subject}${link === undefined ? '' : ` → ${link}`}`.replace(/\p{Cc}+/gu, ' ')
}

function pageOf(letters: readonly KeptLetter[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Mailbox</title>',
    '<meta name="viewport" content="width=device-width"></head>',
    '<body style="font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em">',
    '<h1>Mailbox</h1>',
    `<p>Letters are not delivered but shown here: the last ${keptMax}, until the system stops.</p>`,
    ...(letters.length === 0 ? ['<p>No letters so far.</p>'] : letters.map(articleOf)),
    '</body></html>\n',
  ].join('\n')
}

function articleOf({ receivedAt, to, subject, text }: KeptLetter): string {
  const body = escapeHtml(text).replace(/^https?:\/\/\S+$/gm, '<a href="$&">$&</a>')
  return `<article><h2>${escapeHtml(subject)}</h2><p>To ${escapeHtml(to)}, <time>${receivedAt}</time></p>
<pre style="white-space: pre-wrap; font: inherit">${body}</pre></article><hr>`
}
