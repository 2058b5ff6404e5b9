import type { Queryable } from '../db/pool.ts'
import { type ChargeKind, findChargeKind } from './charge-kind.ts'

/** A request whose gateway has ended it: nothing more is delivered. */
export type EndedRequest = {
  readonly requestId: string
  /** Of the charge that counts. */
  readonly chargeKind: ChargeKind
  readonly costNano: bigint
}

/** Those of these requests that are posted as their gateway ended them, and not only as a sweep billed them. */
export async function readEndedRequests(
  client: Queryable,
  requestIds: readonly string[],
): Promise<readonly EndedRequest[]> {
  const { rows } = await client.query<{ id: string; rank: number; cost: bigint }>(
    `select r.id, r.rank, r.cost
       from unnest($1::uuid[]) t (id)
      cross join lateral (select * from requests where id = t.id and ts = uuid_time(t.id) offset 0) r
      where r.rank > 0 or r.record ->> 'outcome' <> 'swept'`,
    [requestIds],
  )
  return rows.map(({ id, rank, cost }) => ({
    requestId: id,
    chargeKind: chargeKindOf(rank),
    costNano: cost,
  }))
}

function chargeKindOf(rank: number): ChargeKind {
  const kind = findChargeKind(String(rank))
  if (kind === undefined) throw new Error(`a charge of rank ${rank}`)
  return kind
}
