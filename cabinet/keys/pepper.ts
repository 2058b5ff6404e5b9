import { createHmac } from 'node:crypto'
import { orUnavailable } from '../db/availability.ts'
import type { Queryable } from '../db/pool.ts'

/** The keys of this database were hashed under another pepper: whoever went on would let none of them in. */
export class PepperMismatch extends Error {
  constructor() {
    super(
      'KEY_PEPPER is not the one that the API keys of this database were made with: none of them would open. ' +
        'It is for life, so start with the first one again.',
    )
    this.name = 'PepperMismatch'
  }
}

/** No key reads like this, so it is the hash of none. */
const checked = 'model-gateway key pepper'

/**
 * Makes sure that the keys of this database are hashed under this pepper; for a database that has never heard of one
 * it is this one from now on. Of many first ones at once one wins.
 *
 * @param client reads committed, as a pool does.
 * @throws PepperMismatch, or PostgresUnavailable.
 */
export async function requirePepper(client: Queryable, pepper: string): Promise<void> {
  const checkValue = createHmac('sha256', pepper).update(checked).digest('base64url')
  const { rows } = await orUnavailable(
    client.query<{ isOurs: boolean }>('select is_key_pepper($1) as "isOurs"', [checkValue]),
  )
  if (!rows[0]?.isOurs) throw new PepperMismatch()
}
