import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { checkWaitMsMax } from '../payment-checks.ts'
import { type Asked, askProvider } from './ask-provider.ts'
import { paymentsScope } from './payments-scope.ts'
import type { SettleDeps } from './settle-payment.ts'

type Check = { readonly id: string; readonly paymentId: string }

/** Asks the provider about the payment for which a customer has waited longest. Returns whether one waited. */
export async function checkPayment(deps: SettleDeps): Promise<boolean> {
  const check = await takeCheck(deps.pool)
  if (check === undefined) return false
  const asked = await askProvider(deps, check.paymentId)
  await finishCheck(deps.pool, check, isAnswer(asked) ? 'answered' : 'unavailable')
  return true
}

/** A difference is an answer, too: the payment's row is as current as it can be. */
function isAnswer(asked: Asked): boolean {
  return asked === 'answered' || asked === 'different'
}

/** Each is taken once. An older one is left: its customer does not wait any more. */
async function takeCheck(pool: Pool): Promise<Check | undefined> {
  const { rows } = await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit<Check>(
      'when to ask the provider again',
      `update payment_checks set taken_at = clock_timestamp()
        where id = (select id from payment_checks
                     where taken_at is null and asked_at > clock_timestamp() - $1 * interval '1 ms'
                     order by asked_at limit 1 for update skip locked)
       returning id, payment_id as "paymentId"`,
      [checkWaitMsMax],
    ),
  )
  return rows[0]
}

async function finishCheck(pool: Pool, { id }: Check, outcome: 'answered' | 'unavailable'): Promise<void> {
  await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit(
      'when to ask the provider again',
      'update payment_checks set outcome = $2 where id = $1',
      [id, outcome],
    ),
  )
}

/** Removes at most `countMax` checks for which no customer has waited for an hour. Returns the number. */
export async function removeOldChecks(pool: Pool, countMax: number): Promise<number> {
  const { rowCount } = await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit(
      'when to ask the provider again',
      `delete from payment_checks where id = any (array(
         select id from payment_checks where asked_at < clock_timestamp() - interval '1 hour' limit $1))`,
      [countMax],
    ),
  )
  return rowCount ?? 0
}
