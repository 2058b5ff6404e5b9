import { DatabaseError } from 'pg'

/** Postgres did not answer, or not in time: the same question may be asked again later. */
export class PostgresUnavailable extends Error {
  constructor(options: { readonly cause: unknown }) {
    super('Postgres is away', options)
    this.name = 'PostgresUnavailable'
  }
}

/**
 * SQLSTATE classes that say nothing about the question: connection (08), transaction rolled back (40), out of
 * resources (53), taken back by an operator or a time-out (57), the system itself (58).
 */
const passing = /^(?:08|40|53|57|58)/

/**
 * What `asked` answers, which must be a question to Postgres and nothing else.
 *
 * @throws PostgresUnavailable where Postgres is away or overloaded; what it says about the question itself is
 *   thrown as it came.
 */
export async function orUnavailable<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof DatabaseError && !passing.test(error.code ?? '')) throw error
    throw new PostgresUnavailable({ cause: error })
  }
}
