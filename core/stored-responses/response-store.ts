import type { ScopedClient } from '../audit/scope.ts'
import { orUnavailable } from '../db/availability.ts'
import type { Queryable } from '../db/pool.ts'
import { conversationLengthMax, referredBytesMax, type StoredHead } from './response-frame.ts'

/** Whose responses these are: a key reads only its own. */
export type ResponseOwner = { readonly organizationId: string; readonly keyId: string }

/** A stored response, still encrypted. `input` is empty where only the response was asked for. */
export type StoredResponse = { readonly id: string; readonly input: Buffer; readonly response: Buffer }

/** `too_large`: more than `referredBytesMax`, or a conversation of more than `conversationLengthMax` responses. */
export type FoundResponses =
  | { readonly kind: 'found'; readonly responses: readonly StoredResponse[] }
  | { readonly kind: 'not_found' | 'too_large' }

/** Stores a response. The same one again changes nothing. @throws PostgresUnavailable */
export async function storeResponse(
  client: ScopedClient,
  { organizationId, keyId }: ResponseOwner,
  { id, hours, previousId, itemIds }: StoredHead,
  { input, response }: Pick<StoredResponse, 'input' | 'response'>,
): Promise<void> {
  await orUnavailable(
    client.withoutAudit(
      'content of a key, not a setting; its request has a record',
      `with response as (
         insert into stored_responses (id, expires_at, organization_id, key_id, previous_id, input, response)
         values ($1, uuid_time($1) + make_interval(hours => $2), $3, $4, $5, $7, $8) on conflict do nothing)
       insert into stored_response_items (key_id, item_id, expires_at, organization_id, response_id)
       select $4, item_id, uuid_time($1) + make_interval(hours => $2), $3, $1
         from unnest($6::text[]) as item_id on conflict do nothing`,
      [id, hours, organizationId, keyId, previousId, itemIds, input, response],
    ),
  )
}

/** Deletes a response; `false`: this key has none of this id. @throws PostgresUnavailable */
export async function deleteResponse(
  client: ScopedClient,
  { organizationId, keyId }: ResponseOwner,
  id: string,
): Promise<boolean> {
  const { rowCount } = await orUnavailable(
    client.withoutAudit(
      'content of a key, not a setting; its request has a record',
      `delete from stored_responses
        where id = $1 and key_id = $2 and organization_id = $3 and expires_at > now()`,
      [id, keyId, organizationId],
    ),
  )
  return rowCount !== 0
}

/** A stored response. @throws PostgresUnavailable */
export async function findResponse(
  client: Queryable,
  owner: ResponseOwner,
  id: string,
): Promise<FoundResponses> {
  return readResponses(client, owner, [id], 'r.input')
}

/**
 * A stored response and those that it continues, the oldest first. `not_found`: one of them is missing.
 *
 * Limits, since Postgres expects a row in each partition, and would compile a statement that looks so expensive.
 *
 * @throws PostgresUnavailable
 */
export async function findConversation(
  client: Queryable,
  owner: ResponseOwner,
  id: string,
): Promise<FoundResponses> {
  const { rows } = await orUnavailable(
    client.query<{ id: string; previousId: string | null }>(
      `with recursive conversation (id, previous_id, place) as (
         (select id, previous_id, 1 from stored_responses
           where id = $1 and key_id = $2 and organization_id = $3 and expires_at > now() limit 1)
         union all
         select r.id, r.previous_id, c.place + 1
           from conversation c,
                lateral (select id, previous_id from stored_responses
                          where id = c.previous_id and key_id = $2 and organization_id = $3 and expires_at > now()
                          limit 1) r
          where c.place <= $4)
       select id, previous_id as "previousId" from conversation order by place desc`,
      [id, owner.keyId, owner.organizationId, conversationLengthMax],
    ),
  )
  if (rows.length > conversationLengthMax) return { kind: 'too_large' }
  const [oldest] = rows
  if (oldest === undefined || oldest.previousId !== null) return { kind: 'not_found' }
  return readResponses(
    client,
    owner,
    rows.map((row) => row.id),
    'r.input',
  )
}

/** The stored responses that have these items, without their inputs; items that are not stored are left out. @throws PostgresUnavailable */
export async function findResponsesWith(
  client: Queryable,
  owner: ResponseOwner,
  itemIds: readonly string[],
): Promise<FoundResponses> {
  const { rows } = await orUnavailable(
    client.query<{ id: string }>(
      `select distinct response_id as id from stored_response_items
        where key_id = $1 and item_id = any($2::text[]) and organization_id = $3 and expires_at > now()`,
      [owner.keyId, itemIds, owner.organizationId],
    ),
  )
  if (rows.length === 0) return { kind: 'found', responses: [] }
  const found = await readResponses(
    client,
    owner,
    rows.map(({ id }) => id),
    "''::bytea",
  )
  return found.kind === 'not_found' ? { kind: 'found', responses: [] } : found
}

/** In the order of `ids`. Their size is known before any of it is read. */
async function readResponses(
  client: Queryable,
  { organizationId, keyId }: ResponseOwner,
  ids: readonly string[],
  input: 'r.input' | "''::bytea",
): Promise<FoundResponses> {
  const condition =
    'r.id = any($1::uuid[]) and r.key_id = $2 and r.organization_id = $3 and r.expires_at > now()'
  const values = [ids, keyId, organizationId]
  const sized = await orUnavailable(
    client.query<{ bytes: number | null }>(
      `select sum(length(${input}) + length(r.response))::float8 as bytes from stored_responses r where ${condition}`,
      values,
    ),
  )
  const bytes = sized.rows[0]?.bytes ?? null
  if (bytes === null) return { kind: 'not_found' }
  if (bytes > referredBytesMax) return { kind: 'too_large' }
  const { rows } = await orUnavailable(
    client.query<StoredResponse>(
      `select r.id, ${input} as input, r.response from stored_responses r
        where ${condition} order by array_position($1::uuid[], r.id)`,
      values,
    ),
  )
  return { kind: 'found', responses: rows }
}
