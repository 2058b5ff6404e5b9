import type { ScopedClient } from '../audit/scope.ts'
import type { Idempotency } from './endpoint.ts'
import type { Problem } from './problem.ts'

/** What was answered. Kept as it is, so nothing secret may be in it. */
type Kept<Body> = { readonly status: number; readonly body: Body }

/**
 * Does `work` once for an idempotency key of a user, in the transaction of `client`; asked again, answers what was kept
 * then. A caller who asks twice at the same time waits for the other to be committed.
 *
 * @param work what it did and what may be kept of its answer; or a problem, of which nothing is kept.
 */
export async function once<Body extends object, Fresh extends Kept<Body>>(
  client: ScopedClient,
  userId: string,
  { key, requestHash }: Idempotency,
  work: () => Promise<{ readonly fresh: Fresh; readonly kept: Kept<Body> } | { readonly problem: Problem }>,
): Promise<Fresh | Kept<Body> | { readonly problem: Problem }> {
  const { rowCount } = await client.unaudited(
    `insert into idempotency_keys (scope, key, request_hash, status, answer) values ($1, $2, $3, 0, '{}')
     on conflict do nothing`,
    [userId, key, requestHash],
  )
  if (rowCount === 0) return findKept<Body>(client, userId, { key, requestHash })
  const done = await work()
  if ('problem' in done) {
    await client.unaudited('delete from idempotency_keys where scope = $1 and key = $2', [userId, key])
    return done
  }
  await client.unaudited(
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
  // It was there a moment ago; whoever removed it had a problem, and so has this caller.
  if (kept === undefined) return { problem: { code: 'conflict' } }
  return kept.requestHash.equals(requestHash)
    ? { status: kept.status, body: kept.body }
    : { problem: { code: 'idempotency_mismatch' } }
}
