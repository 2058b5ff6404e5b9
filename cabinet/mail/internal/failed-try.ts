import { backoffMs } from '#core/process/backoff'

/** The outcome of a failed attempt, and its reason. Only codes, because a server's message may repeat the address. */
export type FailedTry = {
  readonly why: string
  /** Pause until the next attempt. `undefined`: the email is given up. */
  readonly pauseMs: number | undefined
}

/** Doubled with each attempt, so that an email waits about as long again as the mail server was unavailable. */
const firstPauseMs = 5_000
const pauseMsMax = 3_600_000
/** Relays give up after about the same time. By then the links in most emails have expired. */
const ageMsMax = 3 * 24 * 3_600_000

/**
 * Decides what to do with an email after an attempt failed with `error`, as nodemailer throws it. Pure.
 *
 * Only a permanent rejection of the recipient gives the email up immediately. Everything else may be a setting that an
 * operator can fix: a wrong password, or a sender unknown to the relay.
 *
 * @param options.attempts attempts so far, including this one.
 * @param options.random 0…1. Spreads the next attempts of emails that failed together.
 */
export function judgeFailedTry(
  error: unknown,
  options: { readonly attempts: number; readonly ageMs: number; readonly random: number },
): FailedTry {
  const { code, command, responseCode } = codesOf(error)
  const why = [code, responseCode, command].filter((part) => part !== undefined).join(' ')
  // `API`: nodemailer itself rejected the address.
  const isRefused = command === 'API' || (command === 'RCPT TO' && (responseCode ?? 0) >= 500)
  if (code === 'EENVELOPE' && isRefused) return { why, pauseMs: undefined }
  const pauseMs = backoffMs({ ...options, firstMs: firstPauseMs, mostMs: pauseMsMax })
  return { why, pauseMs: options.ageMs + pauseMs > ageMsMax ? undefined : pauseMs }
}

/** Whether the mail server failed, regardless of the email. */
export function isServerAway(error: unknown): boolean {
  const { code = '' } = codesOf(error)
  return ['ECONNECTION', 'ETIMEDOUT', 'ESOCKET', 'EDNS', 'ETLS', 'EAUTH', 'EABORT'].includes(code)
}

function codesOf(error: unknown): {
  readonly code: string | undefined
  readonly command: string | undefined
  readonly responseCode: number | undefined
} {
  const { code, command, responseCode } = Object(error) as Readonly<Record<string, unknown>>
  return {
    code: typeof code === 'string' ? code : 'UNKNOWN',
    command: typeof command === 'string' ? command : undefined,
    responseCode: typeof responseCode === 'number' ? responseCode : undefined,
  }
}
