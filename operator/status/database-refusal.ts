import { dataErrorOf } from '#core/db/data-error'
import { no, type Verdict } from './verdict.ts'

/**
 * The condition of an object that Postgres will never store; `undefined`: another error. A document contains no secret,
 * so neither does the message of Postgres about it. Pure.
 */
export function databaseRefusal(error: unknown): Verdict | undefined {
  const code = dataErrorOf(error)
  if (code === undefined || !(error instanceof Error)) return undefined
  return no('DatabaseRefused', `The database rejected this object: ${error.message} (SQLSTATE ${code})`)
}
