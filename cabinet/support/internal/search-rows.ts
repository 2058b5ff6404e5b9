import type { Queryable } from '#core/db/pool'
import { balanceAfterSql } from '#core/ledger/balance-after-sql'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'

/** Most objects of one kind that a search returns: more are no answer. */
export const foundMax = 20

/** The organization of a settled request. Reads only the partition of the time in the ID. */
export async function findOrganizationOfRequest(
  client: Queryable,
  requestId: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const { rows } = await client.query<{ id: string; name: string }>(
    `select o.id, o.name from requests r join organizations o on o.id = r.organization_id
      where r.id = $1 and r.ts = uuid_time($1)`,
    [requestId],
  )
  return rows[0]
}

/** Ledger entries of a request, a payment with its refunds and bonuses, or another order. */
export async function readLedgerOf(client: Queryable, refIds: readonly string[]) {
  const { rows } = await client.query<{
    organizationId: string
    at: Date
    kind: string
    refId: string
    amount: bigint
    balanceAfter: bigint
  }>(
    `select l.organization_id as "organizationId", l.ts as at, l.kind, l.ref_id as "refId", l.amount,
            ${balanceAfterSql('l')} as "balanceAfter"
       from balance_ledger l where l.ref_id = any($1::uuid[]) order by l.ts, l.seq limit $2`,
    [refIds, 2 * foundMax],
  )
  return rows.map(({ organizationId, at, amount, balanceAfter, ...entry }) => ({
    organization_id: organizationId,
    ...shownEntry({ ...entry, ts: at, amount: nanoRub(amount), balanceAfter: nanoRub(balanceAfter) }),
  }))
}

/** A ledger entry as a search shows it. */
export function shownEntry(entry: {
  readonly ts: Date
  readonly kind: string
  readonly refId: string
  readonly amount: NanoRub
  readonly balanceAfter: NanoRub
}) {
  return {
    created_at: entry.ts.toISOString(),
    kind: entry.kind,
    ref_id: entry.refId,
    amount_rub: formatRub(entry.amount),
    balance_after_rub: formatRub(entry.balanceAfter),
  }
}

/** Payments with our id, the provider's, or one of a refund, and what the ledger calls their refunds and bonuses. */
export async function findPayments(
  client: Queryable,
  { id, providerId }: { readonly id: string | null; readonly providerId: string },
): Promise<{ readonly paymentIds: readonly string[]; readonly refIds: readonly string[] }> {
  const { rows } = await client.query<{ id: string; refIds: string[] }>(
    `select p.id, array(select r.id from refunds r where r.payment_id = p.id)
                  || array(select b.id from bonuses b where b.payment_id = p.id) as "refIds"
       from payments p
      where p.id in (select id from payments where id = $1
                     union all select id from payments where provider_id = $2
                     union all select payment_id from refunds where id = $1
                     union all select payment_id from refunds where provider_id = $2)
      limit $3`,
    [id, providerId, foundMax],
  )
  return {
    paymentIds: rows.map((row) => row.id),
    refIds: rows.flatMap((row) => [row.id, ...row.refIds]),
  }
}

/** Keys with this id, or a secret with these visible parts, the newest first. */
export async function findKeys(
  client: Queryable,
  which: { readonly id: string } | { readonly prefix: string; readonly suffix: string },
) {
  const { rows } = await client.query<{
    id: string
    name: string
    hint: string
    organizationId: string
    organizationName: string
    revokedAt: Date | null
  }>(
    `select k.id, k.name, c.prefix || '…' || c.suffix as hint, o.id as "organizationId", o.name as "organizationName",
            least(k.revoked_at, c.revoked_at) as "revokedAt"
       from api_key_credentials c join api_keys k on k.id = c.key_id join organizations o on o.id = k.organization_id
      where ${'id' in which ? 'c.key_id = $1' : `c.prefix like $1 || '%' and ($2 = '' or c.suffix = $2)`}
      order by c.created_at desc limit ${foundMax}`,
    'id' in which ? [which.id] : [likeText(which.prefix), which.suffix],
  )
  return rows.map(({ id, name, hint, organizationId, organizationName, revokedAt }) => ({
    id,
    name,
    secret_hint: hint,
    organization_id: organizationId,
    organization_name: organizationName,
    revoked_at: revokedAt?.toISOString() ?? null,
  }))
}

/** Users whose address begins with a text, by address; users with an id. */
export async function findUserIds(
  client: Queryable,
  which: { readonly id: string } | { readonly email: string },
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    'id' in which
      ? 'select id from users where id = $1'
      : `select id from users where lower(email) like $1 || '%' order by lower(email) limit ${foundMax}`,
    ['id' in which ? which.id : likeText(which.email)],
  )
  return rows.map(({ id }) => id)
}

/** Organizations whose name begins with a text, in any case that Postgres knows; an organization with an id. */
export async function findOrganizationIds(
  client: Queryable,
  which: { readonly id: string } | { readonly name: string },
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    'id' in which
      ? 'select id from organizations where id = $1'
      : `(select id from organizations where lower(name) like lower($1) || '%' order by lower(name) limit ${foundMax})
         union (select id from organizations where lower(display_name) like lower($1) || '%' order by lower(display_name) limit ${foundMax})
         limit ${foundMax}`,
    ['id' in which ? which.id : likeText(which.name)],
  )
  return rows.map(({ id }) => id)
}

/** A text that `like` matches literally. */
function likeText(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
