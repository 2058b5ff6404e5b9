import type { Pool } from 'pg'
import type { Shard } from '../../redis/shard.ts'
import type { ChangedRow } from './changes.ts'

/** Rows noted in one statement: some milliseconds. */
const rowsPerStatementMax = 1_000

/**
 * Notes which version of keys and secrets Redis has, if not noted yet, and notifies `model_gateway_programmed`. No
 * row gets a new version.
 *
 * A key is noted once its shard is one of `serving`: before, a request with it would be a 503. Its secrets are noted at once, because
 * whoever revokes a key asks whether a gateway may ever have known them. Rows locked by others are skipped, so that nobody waits.
 * `readChanges` returns all of these again.
 */
export async function noteProjected(
  pool: Pool,
  rows: readonly ChangedRow[],
  serving: ReadonlySet<Shard>,
): Promise<void> {
  const unnoted = rows
    .filter(({ isNoted, shard, row }) => !isNoted && (row.kind !== 'key' || serving.has(shard)))
    .map(({ row }) => row)
  for (let at = 0; at < unnoted.length; at += rowsPerStatementMax) {
    const some = unnoted.slice(at, at + rowsPerStatementMax)
    const keys = some.filter((row) => row.kind === 'key')
    const secrets = some.filter((row) => row.kind === 'secret')
    await pool.query(
      `with due_key as (
         select k.id, n.version from unnest($1::uuid[], $2::bigint[]) as n (id, version) join api_keys k on k.id = n.id
          where k.projected_version < n.version for no key update of k skip locked
       ), due_secret as (
         select c.id, n.version from unnest($3::text[], $4::bigint[]) as n (hash, version)
           join api_key_credentials c on c.hash = n.hash
          where c.projected_version < n.version for no key update of c skip locked
       ), noted_key as (
         update api_keys k set projected_version = d.version from due_key d where k.id = d.id returning 1
       ), noted_secret as (
         update api_key_credentials c set projected_version = d.version from due_secret d where c.id = d.id
         returning 1
       )
       select pg_notify('model_gateway_programmed', 'keys')
        where exists (select from noted_key) or exists (select from noted_secret)`,
      [
        keys.map(({ keyId }) => keyId),
        keys.map(({ version }) => version),
        secrets.map((row) => row.hash),
        secrets.map(({ version }) => version),
      ],
    )
  }
}
