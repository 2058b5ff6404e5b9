import { pino } from 'pino'
import { logOptions } from './log-options.ts'

/**
 * A process cannot start for a reason that an operator can fix. The message explains how and holds no secret.
 */
export class CannotStart extends Error {}

/** Logs a line about a setting, before the settings of the log are known. */
export type Warn = (message: string) => void

/** Advice for errors of Node when a port is opened. */
const portAdvice: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: stop it, or set another port',
  EACCES: 'this user may not listen there: set a port above 1023',
  EADDRNOTAVAIL: 'this machine has no such address: set another host',
}

/**
 * Runs the start of a process. If that fails, logs the reason in one line and exits with code 1. The line has
 * the whole error only if there is no advice for it.
 *
 * @param name of the process in its log lines.
 * @param start gets what logs a warning until the process has its own log.
 */
export async function startOrExit<Started>(
  name: string,
  start: (warn: Warn) => Promise<Started>,
): Promise<Started> {
  const log = pino({ ...logOptions, name })
  try {
    return await start((message) => log.warn(message))
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) log.fatal({ err: error }, 'could not start')
    else log.fatal(`could not start: ${reason}`)
    return process.exit(1)
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof CannotStart) return oneLine(error.message)
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const advice = portAdvice[String(error.code)]
  return advice === undefined ? undefined : `${error.message}: ${advice}`
}

/** A list, a line each under a heading, as one sentence. */
function oneLine(text: string): string {
  return text.replace(/:\n +/, ': ').replaceAll(/\n +/g, '; ')
}
