import type { WaitingEntry } from '#core/admission/waiting-entry'
import type { Queryable } from '#core/db/pool'
import { jsonWithBigints } from '#core/ledger/money'
import type { Shard } from '#core/redis/shard'

/**
 * Stores a stream entry that cannot be posted, unchanged, for investigation. Repeated calls store it once.
 *
 * @param rejection.sqlstate Postgres's error; `null` if the entry could not be read.
 */
export async function rejectCharge(
  client: Queryable,
  rejection: {
    readonly shard: Shard
    readonly entry: WaitingEntry
    readonly sqlstate: string | null
    readonly why: string
  },
): Promise<void> {
  const { shard, entry, sqlstate, why } = rejection
  const text = jsonWithBigints(entry)
  await client.query('select reject_charge($1::smallint, $2, $3, $4, $5)', [
    shard,
    entry.streamId,
    text, // JSON escapes NUL, the only character that Postgres text cannot store
    sqlstate,
    why.replaceAll('\0', ''),
  ])
}
