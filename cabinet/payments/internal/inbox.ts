import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { settleFetched } from './our-payment.ts'
import { paymentsScope } from './payments-scope.ts'
import { type Answer, isUnheardOf } from './provider.ts'
import type { SettleDeps } from './settle-payment.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

type Notification = {
  readonly id: bigint
  readonly event: string
  readonly objectId: string
  readonly attempts: number
  /** Notifications that arrive later may be about later events. */
  readonly takenAt: string
}

/** The result of a notification. */
type Outcome = 'settled' | 'different' | 'ignored' | 'not_found' | 'unknown_payment' | 'gave_up'

/** About 24 hours. By then the poller has long found out. */
const attemptsMax = 300

/** Asks the provider about the object of the notification that has been due longest. Returns whether there was one. */
export async function processNotification(deps: SettleDeps): Promise<boolean> {
  const notification = await takeDue(deps.pool)
  if (notification === undefined) return false
  const { event, objectId, attempts } = notification
  const answer = await handle(deps, notification)
  const unreadable = unreadableOf(answer)
  if (unreadable !== undefined) {
    await noteUnreadable(deps, unreadable)
    await finish(deps.pool, notification, 'different')
  } else if (answer.kind === 'answered') await finish(deps.pool, notification, answer.value)
  else if (isUnheardOf(answer)) {
    deps.log.warn({ event, objectId }, 'provider does not have the object of a notification')
    await finish(deps.pool, notification, 'not_found')
  } else if (attempts >= attemptsMax) await finish(deps.pool, notification, 'gave_up')
  else {
    const why = answer.kind === 'refused' ? answer.code : answer.why
    deps.log.warn(
      { event, objectId, why },
      'could not ask the provider about a notification; will be retried',
    )
    await putOff(deps.pool, notification)
  }
  return true
}

/** The fetched object decides what to do. The notification's event is not trusted. */
async function handle(deps: SettleDeps, { event, objectId }: Notification): Promise<Answer<Outcome>> {
  const { provider } = deps.shop
  if (event.startsWith('payment.')) {
    const fetched = await provider.get(objectId)
    return fetched.kind === 'answered' ? settleFetched(deps, fetched.value) : fetched
  }
  if (event.startsWith('refund.')) {
    const refund = await provider.getRefund(objectId)
    if (refund.kind !== 'answered') return refund
    const fetched = await provider.get(refund.value.payment)
    return fetched.kind === 'answered' ? settleFetched(deps, fetched.value, [refund.value]) : fetched
  }
  return { kind: 'answered', value: 'ignored' }
}

/**
 * Takes a notification for 15 s, so that a killed worker delays no one for longer. If a call takes longer, another
 * worker asks, too. Posting is idempotent.
 */
async function takeDue(pool: Pool): Promise<Notification | undefined> {
  const { rows } = await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit<Notification>(
      'the inbox of notifications, which change nothing themselves',
      `update webhook_inbox set attempts = attempts + 1, next_attempt_at = clock_timestamp() + interval '15 seconds'
        where id = (select id from webhook_inbox where processed_at is null and next_attempt_at <= clock_timestamp()
                     order by next_attempt_at limit 1 for update skip locked)
       returning id, event, object_id as "objectId", attempts, clock_timestamp()::text as "takenAt"`,
      [],
    ),
  )
  return rows[0]
}

/** Finishes all notifications with the same content that had arrived when it was taken: one call answers them all. */
async function finish(
  pool: Pool,
  { event, objectId, takenAt }: Notification,
  outcome: Outcome,
): Promise<void> {
  await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit(
      'the inbox of notifications, which change nothing themselves',
      `update webhook_inbox set processed_at = clock_timestamp(), outcome = $4
        where object_id = $1 and event = $2 and processed_at is null and received_at <= $3`,
      [objectId, event, takenAt, outcome],
    ),
  )
}

async function putOff(pool: Pool, { id, attempts }: Notification): Promise<void> {
  await inScope(pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit(
      'the inbox of notifications, which change nothing themselves',
      `update webhook_inbox set next_attempt_at = clock_timestamp() + least(power(2, $2), 300) * interval '1 s'
        where id = $1 and processed_at is null`,
      [id, Math.min(attempts, 10)],
    ),
  )
}
