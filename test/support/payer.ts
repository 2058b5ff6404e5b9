import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { readVersionsInForce } from '#cabinet/legal/legal-texts'
import { newClientAddress } from './client-address.ts'
import { signedIn } from './signed-in.ts'
import type { TestWeb } from './web.ts'

/** A user who is signed in and may pay. */
export type Payer = Awaited<ReturnType<typeof signedIn>>

/** Signs in a user who has accepted the offer in force, or another version of it. */
export async function makePayer(
  pool: Pool,
  { offer, ...fields }: Parameters<typeof signedIn>[1] & { readonly offer?: string } = {},
): Promise<Payer> {
  const person = await signedIn(pool, fields)
  const [current] = await readVersionsInForce(pool, 'en')
  await pool.query(
    `insert into consents (user_id, kind, version, sha256, locale, address, agent)
     values ($1, 'offer', $2, $3, 'en', '127.0.0.1', 'test')`,
    [person.userId, offer ?? current?.version, current?.sha256],
  )
  return person
}

/**
 * Posts as a payer, from a separate network address and so with separate throttles; 127.0.0.1 must be
 * trusted.
 */
export function postAs(
  web: TestWeb,
  payer: Pick<Payer, 'cookie'>,
  path: string,
  body: object | string = {},
  key: string = randomUUID(),
) {
  const address = newClientAddress()
  const headers = { 'x-forwarded-for': address, 'idempotency-key': key }
  return web.call('POST', path, { cookie: payer.cookie, body, headers })
}
