import type { Queryable } from '../db/pool.ts'

/** A gateway that lives. */
export type Replica = {
  readonly id: string
  /** Catalogue revision that it serves. */
  readonly revision: bigint
  /**
   * What it cannot use now, and a word why. Named by provider where the whole of it is in trouble, and as
   * `<provider> <model>`, the model's name there, for each place that rests.
   */
  readonly unhealthy: Readonly<Record<string, string>>
}

/** The gateways that live, as the worker has last seen them (well below a second ago), in order of id. */
export async function readReplicas(client: Queryable): Promise<readonly Replica[]> {
  const { rows } = await client.query<Replica>(
    'select id, revision, unhealthy from gateway_replicas order by id',
  )
  return rows
}
