import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterAll, vi } from 'vitest'
import { listeningPort } from '#core/process/listening-port'

/** An email as its reader gets it. */
type ReceivedLetter = {
  /** With its angle brackets. */
  readonly messageId: string
  readonly kind: string
  /** The address of the envelope. */
  readonly to: string
  readonly from: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly email: Email
}

/** What the server does with an email to an address. */
type Reception =
  /** Rejects its recipient with such a code. */
  | { readonly refuse: number }
  /** Takes the whole email, and never answers. */
  | 'stall'
  /** Takes the whole email, and hangs up. */
  | 'drop'
  /** Takes the whole email, and answers so much later. */
  | { readonly answerAfterMs: number }

/** A mail server on loopback that keeps what it gets; scripted per recipient. */
export type Smtp = {
  /** For SMTP_URL and MAIL_FROM of a worker. */
  readonly env: { readonly SMTP_URL: string; readonly MAIL_FROM: string }
  /** Every copy that it got as a whole, in order, whatever it answered. */
  letters(to?: string): readonly ReceivedLetter[]
  untilLetter(to: string, which?: string | ((letter: ReceivedLetter) => boolean)): Promise<ReceivedLetter>
  /** From now on; `undefined`: takes emails again. */
  script(to: string, reception: Reception | undefined): void
  /** Greets no client from now on, or again. */
  greet(answer: 'at once' | 'never'): void
  /** Hangs up, and rejects connections until `open`. */
  shut(): Promise<void>
  open(): Promise<void>
  stop(): Promise<void>
}

/** Starts a mail server of this test file, gone with it. */
export async function smtpOfThisFile(): Promise<Smtp> {
  const smtp = await startSmtp()
  afterAll(smtp.stop)
  return smtp
}

async function startSmtp(): Promise<Smtp> {
  const received: ReceivedLetter[] = []
  const scripts = new Map<string, Reception>()
  let greets = true
  const make = () =>
    new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      disableReverseLookup: true,
      closeTimeout: 1,
      onConnect: (_session, answer) => (greets ? answer() : undefined),
      onRcptTo({ address }, _session, answer) {
        const script = scripts.get(address)
        if (typeof script !== 'object' || !('refuse' in script)) return answer()
        answer(Object.assign(new Error(`<${address}> is refused`), { responseCode: script.refuse }))
      },
      async onData(stream, session, answer) {
        const [to = ''] = session.envelope.rcptTo.map(({ address }) => address)
        received.push(letterOf(to, await PostalMime.parse(await buffer(stream))))
        const script = scripts.get(to)
        if (script === 'drop') for (const each of server.connections) if (each.id === session.id) each.close()
        if (typeof script === 'object' && 'answerAfterMs' in script) await pause(script.answerAfterMs)
        if (script !== 'drop' && script !== 'stall') answer()
      },
    }).on('error', () => undefined) // a client that was killed
  let server = make()
  let port = 0
  const open = async () => {
    server = make()
    await once(server.listen(port, '127.0.0.1'), 'listening')
    port = listeningPort(server.server)
  }
  const shut = () => new Promise<void>((resolve) => server.close(resolve))
  await open()
  const letters = (to?: string) => received.filter((letter) => to === undefined || letter.to === to)
  return {
    env: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Model Gateway <no-reply@gateway.example>' },
    letters,
    untilLetter: (to, which = () => true) =>
      vi.waitFor(() => {
        const matches = typeof which === 'string' ? ({ kind }: ReceivedLetter) => kind === which : which
        const letter = letters(to).find(matches)
        if (letter === undefined) throw new Error(`no such letter to ${to}`)
        return letter
      }),
    script: (to, reception) =>
      void (reception === undefined ? scripts.delete(to) : scripts.set(to, reception)),
    greet(answer) {
      greets = answer === 'at once'
    },
    shut,
    open,
    stop: shut,
  }
}

function letterOf(to: string, email: Email): ReceivedLetter {
  return {
    messageId: email.messageId ?? '',
    kind: email.headers.find(({ key }) => key === 'x-letter-kind')?.value ?? '',
    to,
    from: email.from?.address ?? '',
    subject: email.subject ?? '',
    text: email.text ?? '',
    html: email.html ?? '',
    email,
  }
}
