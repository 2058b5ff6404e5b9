import type { Queryable } from '#core/db/pool'
import { readVersionsInForce } from '../legal/legal-texts.ts'

/** Whether a user has accepted the newest offer and not withdrawn the consent. */
export async function hasAcceptedOffer(client: Queryable, userId: string): Promise<boolean> {
  const { rows } = await client.query<{ version: string; withdrawn: boolean }>(
    `select version, withdrawn from consents where user_id = $1 and kind = 'offer' order by id desc limit 1`,
    [userId],
  )
  const [latest] = rows
  const inForce = await readVersionsInForce(client, 'ru')
  const current = inForce.find(({ kind }) => kind === 'offer')
  return latest !== undefined && !latest.withdrawn && latest.version === current?.version
}
