import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'
import { type Shard, shardOf } from '../redis/shard.ts'

export type Organization = { readonly id: string; readonly name: string; readonly shard: Shard }

/**
 * The organization of this name, created with an empty account if there is none yet. Safe to call concurrently.
 *
 * @param name a DNS label: lower-case letters, digits, hyphens inside, at most 63.
 */
export async function createOrganization(
  client: ScopedClient,
  name: string,
): Promise<Organization & { readonly created: boolean }> {
  const id = randomUUID()
  const shard = shardOf(id)
  const [made] = await client.change<Organization>(
    `insert into organizations (id, name, shard) values ($1, $2, $3)
     on conflict (name) do nothing returning id, name, shard`,
    [id, name, shard],
    () => ({
      action: 'organization.create',
      subject: { kind: 'Organization', id },
      organizationId: id,
      before: null,
      after: { name, shard },
    }),
  )
  if (made !== undefined) return { ...made, created: true }
  const known = await findOrganization(client, name)
  if (known === undefined) throw new Error(`Organization ${name} disappeared while it was being read`)
  return { ...known, created: false }
}

/** The organization of this name, if there is one. */
export async function findOrganization(client: Queryable, name: string): Promise<Organization | undefined> {
  const { rows } = await client.query<Organization>(
    'select id, name, shard from organizations where name = $1',
    [name],
  )
  return rows[0]
}

/** Ids of the organizations among these names that exist, by name. */
export async function findOrganizations(
  client: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map()
  const { rows } = await client.query<Organization>(
    'select id, name from organizations where name = any($1)',
    [names],
  )
  return new Map(rows.map(({ id, name }) => [name, id]))
}
