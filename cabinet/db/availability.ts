import { DatabaseError } from 'pg'

/** Postgres did not answer, or not in time. The same query may be sent again later. */
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
