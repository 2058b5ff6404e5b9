import type { ScopedClient } from '#core/audit/scope'
import type { Idempotency } from './endpoint.ts'
import type { Problem } from './problem.ts'

/** A stored response. It is stored as is, so it must contain no secrets. */
type Kept<Body> = { readonly status: number; readonly body: Body }

/**
 * Does `work` once per idempotency key of a user, in the transaction of `client`. A repeated call gets the stored
 * response. A concurrent repeat waits until the first call commits.
 *
 * @param work returns its result and the response to store, or a problem. Problems are not stored.
 */
export async function once<Body extends object, Fresh extends Kept<Body>>(
  client: ScopedClient,
  userId: string,
  { key, requestHash }: Idempotency,
  work: () => Promise<{ readonly fresh: Fresh; readonly kept: Kept<Body> } | { readonly problem: Problem }>,
): Promise<Fresh | Kept<Body> | { readonly problem: Problem }> {
  const { rowCount } = await client.withoutAudit(
    'the call that the idempotency key belongs to is audited',
    `insert into idempotency_keys (scope, key, request_hash, status, answer) values ($1, $2, $3, 0, '{}')
     on conflict do nothing`,
    [userId, key, requestHash],
  )
  if (rowCount === 0) return findKept<Body>(client, userId, { key, requestHash })
  const done = await work()
  if ('problem' in done) {
    await client.withoutAudit(
      'the call that the idempotency key belongs to is audited',
      'delete from idempotency_keys where scope = $1 and key = $2',
      [userId, key],
    )
    return done
  }
  await client.withoutAudit(
    'the call that the idempotency key belongs to is audited',
    'update idempotency_keys set status = $3, answer = $4 where scope = $1 and key = $2',
    [userId, key, done.kept.status, JSON.stringify(done.kept.body)],
  )
  return done.fresh
}

async function findKept<Body extends object>(
  client: ScopedClient,
  userId: string,
  { key, requestHash }: Idempotency,
): Promise<Kept<Body> | { readonly problem: Problem }> {
  const { rows } = await client.query<Kept<Body> & { readonly requestHash: Buffer }>(
    `select request_hash as "requestHash", status, answer as body from idempotency_keys where scope = $1 and key = $2`,
    [userId, key],
  )
  const [kept] = rows
  // The row existed a moment ago. The caller that removed it had a problem, so this caller gets one, too.
  if (kept === undefined) return { problem: { code: 'conflict' } }
  return kept.requestHash.equals(requestHash)
    ? { status: kept.status, body: kept.body }
    : { problem: { code: 'idempotency_mismatch' } }
}
