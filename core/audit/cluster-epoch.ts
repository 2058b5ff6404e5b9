import type { Queryable } from '../db/pool.ts'

/** The fencing token that a writer for a cluster received when it became the leader there. */
export type Fence = { readonly clusterId: string; readonly epoch: bigint }

/** Another writer has taken over this cluster. Nothing was written, and nothing ever will be with this epoch. */
export class Superseded extends Error {
  constructor({ clusterId, epoch }: Fence) {
    super(`epoch ${epoch} of cluster ${clusterId} has ended: another operator is the leader now`)
    this.name = 'Superseded'
  }
}

/**
 * Makes the caller the only writer for a cluster and returns its epoch, one higher than the last.
 *
 * Waits for the transactions of the previous epoch. If their process hangs, Postgres ends them
 * (`core/db/pool.ts`: 5 s). After this returns, no process writes with an older epoch.
 *
 * @param holder name of the pod, shown to users.
 */
export async function takeEpoch(client: Queryable, clusterId: string, holder: string): Promise<bigint> {
  const { rows } = await client.query<{ epoch: bigint }>(
    `insert into cluster_epochs as e (cluster_id, epoch, holder, taken_at) values ($1, 1, $2, clock_timestamp())
     on conflict (cluster_id) do update set epoch = e.epoch + 1, holder = excluded.holder, taken_at = excluded.taken_at
     returning epoch`,
    [clusterId, holder],
  )
  const [row] = rows
  if (row === undefined) throw new Error('no epoch was taken')
  return row.epoch
}

/**
 * Holds the epoch until the transaction ends, so that `takeEpoch` waits for it.
 *
 * @throws Superseded when it is not the newest.
 */
export async function holdEpoch(client: Queryable, fence: Fence): Promise<void> {
  const { rowCount } = await client.query(
    'select from cluster_epochs where cluster_id = $1 and epoch = $2 for share',
    [fence.clusterId, fence.epoch],
  )
  if (rowCount === 0) throw new Superseded(fence)
}
