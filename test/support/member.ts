import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { createKey } from '#core/keys/key-store'
import { type Customer, pepper } from './customer.ts'
import { inTestScope } from './scope.ts'

/** A developer of an organization, without a session. Answers the id of the user. */
export async function createMember(pool: Pool, organizationId: string): Promise<string> {
  const userId = randomUUID()
  await pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, $2, 'ru', '', now(), now())`,
    [userId, `${userId}@example.test`],
  )
  await pool.query("insert into memberships (organization_id, user_id, role) values ($1, $2, 'developer')", [
    organizationId,
    userId,
  ])
  return userId
}

/** A key that a member created. */
export async function createKeyOf(pool: Pool, organizationId: string, createdBy: string): Promise<Customer> {
  const { keyId, secret } = await inTestScope(pool, (client) =>
    createKey(client, { organizationId, name: 'test', managedBy: 'cabinet', createdBy }, pepper),
  )
  return { organizationId, keyId, key: secret }
}

/** Sets the monthly budget of a member, as an owner does. */
export async function setMemberBudget(
  pool: Pool,
  organizationId: string,
  userId: string,
  budgetNano: bigint | null,
): Promise<void> {
  await pool.query(
    'update memberships set monthly_budget_nano = $3 where organization_id = $1 and user_id = $2',
    [organizationId, userId, budgetNano],
  )
}
