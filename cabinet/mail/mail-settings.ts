import { z } from 'zod'

/** The relay that sends our emails. */
export type SmtpServer = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; otherwise STARTTLS where the server offers it. */
  readonly isSecure: boolean
  /** Sent over TLS only. */
  readonly login: { readonly user: string; readonly password: string } | undefined
}

/** The sender of emails. */
export type Sender = { readonly name: string; readonly address: string }

const submissionPort = 587
const secureSubmissionPort = 465

const smtpUrlProblem =
  'must be an smtp:// or smtps:// URL; percent-encode special characters in user and password'

/** `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. Without a user there is no login. */
export const smtpUrlSetting = z
  .url({ protocol: /^smtps?$/, hostname: /./, error: smtpUrlProblem })
  .transform((text, context): SmtpServer => {
    const { protocol, hostname, port, username, password } = new URL(text)
    const isSecure = protocol === 'smtps:'
    const [user, secret] = [decode(username), decode(password)]
    if (user === undefined || secret === undefined) {
      context.addIssue(smtpUrlProblem)
      return z.NEVER
    }
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (isSecure ? secureSubmissionPort : submissionPort),
      isSecure,
      login: user === '' ? undefined : { user, password: secret },
    }
  })

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const senderProblem = 'must be an address, such as no-reply@example.com or Example <no-reply@example.com>'

/** An address, or a name followed by an address in angle brackets. */
export const senderSetting = z.string().transform((text, context): Sender => {
  const [, name = '', bracketed, bare] = senderPattern.exec(text.trim()) ?? []
  const address = bracketed ?? bare
  if (address !== undefined) return { name: name.trim(), address }
  context.addIssue(senderProblem)
  return z.NEVER
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header ends where a line does
const senderPattern = /^(?:([^<>"@\x00-\x1f]*)<([^\s<>@]+@[^\s<>@]+)>|([^\s<>@]+@[^\s<>@]+))$/
