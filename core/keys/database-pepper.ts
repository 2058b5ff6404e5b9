import { orUnavailable } from '../db/availability.ts'
import type { Queryable } from '../db/pool.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

/**
 * Makes sure that the keys of this database are hashed under this pepper; for a database that has never heard of one
 * it is this one from now on. Of many first ones at once one wins.
 *
 * @param client reads committed, as a pool does.
 * @param onUnchecked for a process that starts all the same when the database cannot be asked: hears why. Without it,
 *   that is thrown.
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

/** What `checkValueOf` says of the database's pepper, if it has heard of one. */
export async function readPepperCheck(client: Queryable): Promise<string | undefined> {
  const { rows } = await client.query<{ check: string }>('select check_value as check from key_pepper')
  return rows[0]?.check
}
