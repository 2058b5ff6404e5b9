import { DatabaseError } from 'pg'

/** Postgres did not respond, or not in time. The same query may be sent again later. */
export class PostgresUnavailable extends Error {
  constructor(options: { readonly cause: unknown }) {
    super('Postgres is unavailable', options)
    this.name = 'PostgresUnavailable'
  }
}

/**
 * SQLSTATE classes that do not concern the query: connection (08), transaction rolled back (40), out of resources
 * (53), operator intervention or time-out (57), system error (58).
 */
const passing = /^(?:08|40|53|57|58)/

/** Errors of a connection from pg and the network, by their messages or by the failed call. */
const connectionWords =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

/** Whether this error of a query or a transaction means that Postgres is unreachable or overloaded. Pure. */
export function isUnavailability(error: unknown): boolean {
  if (error instanceof PostgresUnavailable) return true
  if (error instanceof DatabaseError) return passing.test(error.code ?? '')
  return error instanceof Error && ('syscall' in error || connectionWords.test(error.message))
}

/**
 * Awaits `asked`, which must be a query to Postgres and nothing else.
 *
 * @throws PostgresUnavailable when Postgres is unreachable or overloaded. An error about the query itself is thrown
 *   as it is.
 */
export async function orUnavailable<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof DatabaseError && !passing.test(error.code ?? '')) throw error
    throw new PostgresUnavailable({ cause: error })
  }
}
