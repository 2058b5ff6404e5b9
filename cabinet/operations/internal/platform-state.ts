import type { Queryable } from '#core/db/pool'

/** Open entries of a list are counted up to this number. */
const countMax = 1_000
const gatewaysMax = 1_000

type Gateway = {
  readonly id: string
  readonly version: string | null
  readonly revision: bigint
  readonly unhealthy: Readonly<Record<string, string>>
  readonly changedAt: Date
}

/** The gateways that live, as the worker has last seen them. */
export async function readGateways(client: Queryable): Promise<readonly Gateway[]> {
  const { rows } = await client.query<Gateway>(
    `select id, version, revision, unhealthy, seen_at as "changedAt" from gateway_replicas order by id limit ${gatewaysMax}`,
  )
  return rows
}

/** The revision of the catalog in Postgres. */
export async function readRevision(client: Queryable): Promise<bigint> {
  const { rows } = await client.query<{ revision: bigint }>('select revision from catalogue_revision')
  return rows[0]?.revision ?? 0n
}

/** When the worker last checked the ledger, and what is broken. */
export async function readInvariants(client: Queryable) {
  const { rows: checks } = await client.query<{ lookedAt: Date | null; auditedAt: Date | null }>(
    'select looked_at as "lookedAt", began_at as "auditedAt" from invariant_audit',
  )
  const { rows: breaches } = await client.query<{ invariant: string; count: number; sample: string }>(
    'select invariant, count(*)::int as count, min(sample) as sample from invariant_breaches group by 1 order by 1',
  )
  return { ...(checks[0] ?? { lookedAt: null, auditedAt: null }), breaches }
}

type Open = {
  readonly rejectedCharges: number
  readonly differences: number
  readonly notifications: number
  readonly emails: number
}

/** How many entries of each list wait for a person or a job. */
export async function countOpen(client: Queryable): Promise<Open> {
  const count = (from: string) =>
    `(select count(*)::int from (select from ${from} limit ${countMax}) counted)`
  const { rows } = await client.query<Open>(
    `select ${count('charges_rejected where decision is null')} as "rejectedCharges",
            ${count('payment_differences where resolved_at is null')} as differences,
            ${count('webhook_inbox where processed_at is null')} as notifications,
            ${count('email_outbox where sent_at is null and gave_up_at is null')} as emails`,
  )
  const [open] = rows
  if (open === undefined) throw new Error('Postgres returned no counts')
  return open
}
