/** What a failed try leads to, and why it failed: codes alone, because what a server says may repeat the address. */
export type FailedTry = {
  readonly why: string
  /** Until the next try; `undefined`: the letter is given up. */
  readonly pauseMs: number | undefined
}

/** Doubled with each try, so that a letter waits about as long again as the mail server was away. */
const firstPauseMs = 5_000
const pauseMsMax = 3_600_000
/** Relays give up after about as long. By then the links in most letters have expired anyway. */
const ageMsMax = 3 * 24 * 3_600_000

/**
 * Decides about a letter whose try failed with `error`, as nodemailer throws it. Pure.
 *
 * Only a permanent refusal of its recipient ends it at once. Everything else may be a setting that somebody mends: a
 * wrong password, a sender that the relay does not know.
 *
 * @param options.attempts tries so far, this one included.
 * @param options.random 0…1: so that letters which failed together do not come back together.
 */
export function judgeFailedTry(
  error: unknown,
  options: { readonly attempts: number; readonly ageMs: number; readonly random: number },
): FailedTry {
  const { code, command, responseCode } = codesOf(error)
  const why = [code, responseCode, command].filter((part) => part !== undefined).join(' ')
  // `API`: nodemailer itself found that it is no address.
  const isRefused = command === 'API' || (command === 'RCPT TO' && (responseCode ?? 0) >= 500)
  if (code === 'EENVELOPE' && isRefused) return { why, pauseMs: undefined }
  const steadyMs = Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(options.attempts - 1, 20))
  const pauseMs = Math.round(steadyMs * (0.75 + options.random / 2))
  return { why, pauseMs: options.ageMs + pauseMs > ageMsMax ? undefined : pauseMs }
}

/** Whether the mail server itself failed, whatever the letter. */
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
