import { dataErrorOf } from '#cabinet/db/data-error'
import { no, type Verdict } from './verdict.ts'

/**
 * What is said of an object that Postgres will not store, however often it is asked; `undefined`: another error. A
 * document holds no secret, so what Postgres says of it holds none. Pure.
 */
export function databaseRefusal(error: unknown): Verdict | undefined {
  const code = dataErrorOf(error)
  if (code === undefined || !(error instanceof Error)) return undefined
  return no('DatabaseRefused', `The database rejected this object: ${error.message} (SQLSTATE ${code})`)
}
