import { orUnavailable } from '../db/availability.ts'
import type { Queryable } from '../db/pool.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

/**
 * Checks that the keys of this database are hashed with this pepper. A database without one gets this one
 * from now on. Of many simultaneous first ones, one wins.
 *
 * @param client reads committed, as a pool does.
 * @param onUnchecked for a process that starts even if the database is unavailable: called with the reason.
 * Without it, that is thrown.
 * @throws PepperMismatch
 */
export async function requirePepper(
  client: Queryable,
  pepper: string,
  onUnchecked?: (error: unknown) => void,
): Promise<void> {
  const asked = isPepperOf(client, pepper)
  const isOurs = await (onUnchecked === undefined ? asked : asked.catch(onUnchecked))
  if (isOurs === false) throw new PepperMismatch()
}

async function isPepperOf(client: Queryable, pepper: string): Promise<boolean> {
  const { rows } = await orUnavailable(
    client.query<{ isOurs: boolean }>('select is_key_pepper($1) as "isOurs"', [checkValueOf(pepper)]),
  )
  return rows[0]?.isOurs === true
}

/** The `checkValueOf` of the database's pepper, if one is stored. */
export async function readPepperCheck(client: Queryable): Promise<string | undefined> {
  const { rows } = await client.query<{ check: string }>('select check_value as check from key_pepper')
  return rows[0]?.check
}
