import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import type { Log } from '#core/process/log'
import { noteDifference } from './differences.ts'
import { findPaymentOf, stopPolls } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import type { Answer, Unreadable } from './provider.ts'

/** The unreadable object of moved money in a response; `undefined` for any other response. Pure. */
export function unreadableOf(answer: Answer<unknown>): Unreadable | undefined {
  return answer.kind === 'unknown' ? answer.unreadable : undefined
}

/** Puts the object aside and stops polling its payment. The daily comparison posts it once it can be read. */
export async function noteUnreadable(
  { pool, log }: { readonly pool: Pool; readonly log: Log },
  { id, status, payment = id }: Unreadable,
): Promise<void> {
  const { isNews, paymentId } = await inScope(pool, paymentsScope, async (client) => {
    const ours = await findPaymentOf(client, payment, null)
    const difference = { kind: 'unreadable', ours: ours?.status ?? 'none', theirs: status } as const
    const isNews = await noteDifference(client, id, ours?.id ?? null, difference)
    if (ours !== undefined) await stopPolls(client, ours.id)
    return { isNews, paymentId: ours?.id ?? null }
  })
  if (isNews)
    log.error({ paymentId, providerId: id, status }, 'provider object of moved money cannot be read')
}
