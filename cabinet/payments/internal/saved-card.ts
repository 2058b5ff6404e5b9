import type { ScopedClient } from '#core/audit/scope'
import { tellCanceled, tellStopped } from './payment-letters.ts'
import type { SavedCard } from './provider.ts'

/** Keeps the card of a paid payment for automatic top-ups, if its payer has consented and may still pay. */
export async function saveCard(
  client: ScopedClient,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
  { methodId, brand, last4, expires }: SavedCard,
): Promise<void> {
  await client.change<{ saved: boolean }>(
    'select save_card($1, $2, $3, $4, $5) as saved',
    [id, methodId, brand, last4, expires],
    ([row]) =>
      row?.saved === true
        ? {
            action: 'card.save',
            subject: { kind: 'Organization', id: organizationId },
            organizationId,
            before: null,
            after: { paymentId: id, last4 },
          }
        : undefined,
  )
}

/** Emails the owners that a payment was canceled. An automatic one stops the card that it charged instead, unless that is gone. Once per payment. */
export async function noteCanceled(
  client: ScopedClient,
  paymentId: string,
  reason: string | null,
): Promise<void> {
  const { rows } = await client.query<{
    organizationId: string
    isAutomatic: boolean
    cardPaymentId: string | null
  }>(
    `select organization_id as "organizationId", automatic_day is not null as "isAutomatic",
            card_payment_id as "cardPaymentId" from payments where id = $1`,
    [paymentId],
  )
  const [payment] = rows
  if (payment?.isAutomatic !== true) return tellCanceled(client, paymentId, reason)
  const { organizationId, cardPaymentId } = payment
  if (cardPaymentId !== null)
    await stopAutoTopUp(client, { organizationId, cardPaymentId }, reason ?? 'general_decline')
}

type StoppedCard = {
  readonly organizationId: string
  /** The payment that saved the card. */
  readonly cardPaymentId: string
}

/** Charges nothing more until a user turns automatic top-ups on again, and emails the owners why. Does so once. */
export async function stopAutoTopUp(
  client: ScopedClient,
  { organizationId, cardPaymentId }: StoppedCard,
  reason: string,
): Promise<void> {
  const stopped = await client.change<{ amount: bigint; last4: string }>(
    `update saved_cards set stopped_at = clock_timestamp(), stop_reason = $2
      where organization_id = $1 and payment_id = $3 and stopped_at is null and amount_nano is not null
     returning amount_nano as amount, last4`,
    [organizationId, reason, cardPaymentId],
    ([card]) => ({
      action: 'card.stop',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: null,
      after: { reason, last4: card?.last4 ?? null },
    }),
  )
  const [card] = stopped
  if (card !== undefined) await tellStopped(client, { organizationId, reason, ...card })
}
