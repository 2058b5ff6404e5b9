import type { ScopedClient } from '#core/audit/scope'
import type { Idempotency } from './endpoint.ts'
import type { Problem } from './problem.ts'

/** A stored response. It is stored as is, so it must contain no secrets. */
type Kept<Body> = { readonly status: number; readonly body: Body }

/** The account whose idempotency key it is. Administrators' keys are in a separate table. */
type Account =
  | { readonly userId: string }
  | { readonly tokenId: string }
  | { readonly administratorId: string }

function tableOf(account: Account): readonly [table: string, scope: string] {
  if ('administratorId' in account) return ['administrator_idempotency_keys', account.administratorId]
  return ['idempotency_keys', 'userId' in account ? account.userId : account.tokenId]
}

/**
 * Does `work` once per idempotency key of an account, in the transaction of `client`. A repeated call gets the stored
 * response. A concurrent repeat waits until the first call commits.
 *
 * @param work returns its result and the response to store, or a problem. Problems are not stored.
 */
export async function once<Body extends object, Fresh extends Kept<Body>>(
  client: ScopedClient,
  account: Account,
  { key, requestHash }: Idempotency,
  work: () => Promise<{ readonly fresh: Fresh; readonly kept: Kept<Body> } | { readonly problem: Problem }>,
): Promise<Fresh | Kept<Body> | { readonly problem: Problem }> {
  const [table, scope] = tableOf(account)
  const { rowCount } = await client.withoutAudit(
    'the call that the idempotency key belongs to is audited',
    `insert into ${table} (scope, key, request_hash, status, answer) values ($1, $2, $3, 0, '{}')
     on conflict do nothing`,
    [scope, key, requestHash],
  )
  if (rowCount === 0) return findKept<Body>(client, account, { key, requestHash })
  const done = await work()
  if ('problem' in done) {
    await client.withoutAudit(
      'the call that the idempotency key belongs to is audited',
      `delete from ${table} where scope = $1 and key = $2`,
      [scope, key],
    )
    return done
  }
  await client.withoutAudit(
    'the call that the idempotency key belongs to is audited',
    `update ${table} set status = $3, answer = $4 where scope = $1 and key = $2`,
    [scope, key, done.kept.status, JSON.stringify(done.kept.body)],
  )
  return done.fresh
}

async function findKept<Body extends object>(
  client: ScopedClient,
  account: Account,
  { key, requestHash }: Idempotency,
): Promise<Kept<Body> | { readonly problem: Problem }> {
  const [table, scope] = tableOf(account)
  const { rows } = await client.query<Kept<Body> & { readonly requestHash: Buffer }>(
    `select request_hash as "requestHash", status, answer as body from ${table} where scope = $1 and key = $2`,
    [scope, key],
  )
  const [kept] = rows
  // The row existed a moment ago. The caller that removed it had a problem, so this caller gets one, too.
  if (kept === undefined) return { problem: { code: 'conflict' } }
  return kept.requestHash.equals(requestHash)
    ? { status: kept.status, body: kept.body }
    : { problem: { code: 'idempotency_mismatch' } }
}
