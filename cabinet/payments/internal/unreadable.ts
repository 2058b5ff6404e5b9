import type { Pool } from 'pg'
import { inScope } from '../../audit/scope.ts'
import type { Log } from '../../process/log.ts'
import { noteDifference } from './differences.ts'
import { findPaymentOf, stopPolls } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import type { Answer, Unreadable } from './provider.ts'

/** What an answer says of money that moved and that nobody here can read; `undefined`: any other answer. Pure. */
export function unreadableOf(answer: Answer<unknown>): Unreadable | undefined {
  return answer.kind === 'unknown' ? answer.unreadable : undefined
}

/** Puts it aside, and asks for its payment no more: the daily comparison books it once it can be read. */
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
    log.error(
      { paymentId, providerId: id, status },
      'money moved at the provider, and its object cannot be read',
    )
}
