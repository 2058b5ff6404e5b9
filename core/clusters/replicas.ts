import type { GatewayReport } from '../catalog/gateway-report.ts'
import type { Queryable } from '../db/pool.ts'

/** A live gateway and its last report. */
export type Replica = GatewayReport & { readonly id: string }

/** The gateways that live, as the worker has last seen them (well below a second ago), in order of id. */
export async function readReplicas(client: Queryable): Promise<readonly Replica[]> {
  const { rows } = await client.query<Replica>(
    'select id, revision, unhealthy, answering from gateway_replicas order by id',
  )
  return rows
}

/**
 * Makes the gateways known here those of `live`, and notifies listeners on `model_gateway_programmed` if that
 * changed anything. Those of `unsure` stay as they are, known or not.
 */
export async function writeReplicas(
  client: Queryable,
  { live, unsure }: { readonly live: readonly Replica[]; readonly unsure: readonly string[] },
): Promise<void> {
  await client.query(
    `with live as (
       select * from unnest($1::text[], $2::bigint[], $3::jsonb[], $4::jsonb[], $6::text[])
                as l (id, revision, unhealthy, answering, version)
     ), gone as (
       delete from gateway_replicas where id <> all ($1) and id <> all ($5::text[]) returning 1
     ), put as (
       insert into gateway_replicas as r (id, revision, unhealthy, answering, version)
       select id, revision, unhealthy, answering, version from live order by id
       on conflict (id) do update
          set revision = excluded.revision, unhealthy = excluded.unhealthy, answering = excluded.answering,
              version = excluded.version, seen_at = now()
        where (r.revision, r.unhealthy, r.answering, r.version)
              is distinct from (excluded.revision, excluded.unhealthy, excluded.answering, excluded.version)
       returning 1
     )
     select pg_notify('model_gateway_programmed', 'routes')
      where exists (select from gone) or exists (select from put)`,
    [
      live.map(({ id }) => id),
      live.map(({ revision }) => revision),
      live.map(({ unhealthy }) => JSON.stringify(unhealthy)),
      live.map(({ answering }) => JSON.stringify(answering)),
      unsure,
      live.map(({ version }) => version ?? null),
    ],
  )
}
