import type { Pool } from 'pg'
import type { Shard } from '#core/redis/shard'
import type { ChangedRow } from '../changes.ts'

/** Rows recorded in one statement: some milliseconds. */
const rowsPerStatementMax = 1_000

/**
 * Records which versions of keys and secrets Redis has, and notifies `model_gateway_programmed`. Does not change row
 * versions.
 *
 * A key is recorded once its shard is one of `serving`: before that, its requests get 503. Secrets are recorded
 * immediately, because a revocation must know whether a gateway may ever have seen them. Locked rows are skipped, so
 * that no one waits. `readChanges` returns them again.
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
