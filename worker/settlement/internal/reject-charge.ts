import type { Queryable } from '../../db/pool.ts'
import { jsonWithBigints } from '../../ledger/money.ts'
import type { Shard } from '../../redis/shard.ts'
import type { WaitingEntry } from './waiting-entry.ts'

/**
 * Stores a stream entry that cannot be booked, unchanged, for a person to look at. Once, however often it is called.
 *
 * @param rejection.sqlstate Postgres's error; `null` if the entry could not even be read.
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
    text, // JSON escapes NUL, the one character that a Postgres text cannot hold
    sqlstate,
    why.replaceAll('\0', ''),
  ])
}
