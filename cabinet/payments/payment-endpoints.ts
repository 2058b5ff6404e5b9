import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { NanoRub } from '#core/ledger/money'
import { type Endpoint, endpoint, type Input, type Output } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { toPage } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
import type { Throttles } from '../api/throttles.ts'
import { readVersionInForce } from '../legal/legal-texts.ts'
import { addressHash } from '../people/address-hash.ts'
import { insertConsent } from '../people/consents.ts'
import { hasAcceptedOffer } from '../people/offer-consent.ts'
import { paymentBody } from './internal/call-body.ts'
import {
  findPayment,
  hasOpenPayments,
  insertPayment,
  readPayments,
  type StoredPayment,
} from './internal/payment-store.ts'
import { showPayment as show } from './internal/shown-payment.ts'
import { tooMuch } from './internal/too-much.ts'
import type { PaymentChecks } from './payment-checks.ts'
import * as contracts from './payment-contracts.ts'
import type { ShopTerms } from './payment-settings.ts'

export type PaymentDeps = {
  readonly pool: Pool
  readonly throttles: Throttles
  readonly checks: PaymentChecks
  /** `undefined`: payments are not configured. */
  readonly shop: ShopTerms | undefined
  readonly topUpMax: NanoRub
  readonly keyPepper: string
  /** The page that the payer returns to. */
  readonly appUrl: string
}

/** Limit of checks of one payment. A waiting page asks every few seconds. */
const refreshRate = { name: 'payment_refresh', count: 20, perS: 60 }

/** Unpaid payments of one organization. Each is polled until it is paid or expires. */
const openPaymentsMax = 20

const unavailable = { problem: { code: 'payments_unavailable' } } as const

/** Endpoints for payments. */
export function paymentEndpoints(deps: PaymentDeps): readonly Endpoint[] {
  const { pool } = deps
  return [
    endpoint(contracts.createPayment, (input) => create(deps, input)),
    endpoint(contracts.listPayments, async ({ caller: { organizationId }, query: { limit, cursor } }) => {
      const payments = await inReadScope(pool, organizationId, (client) =>
        readPayments(client, organizationId, { after: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(payments, limit, show, ({ position, id }) => [position, id]) }
    }),
    endpoint(contracts.readPayment, async ({ caller, params }) => {
      const payment = await findOwn(pool, caller.organizationId, params.payment_id)
      return payment === undefined ? notFound : { status: 200 as const, body: show(payment) }
    }),
    endpoint(contracts.refreshPayment, (input) => refresh(deps, input)),
  ]
}

/** The row is written before the worker's call, so that the payment is known regardless of the call's outcome. */
async function create(
  deps: PaymentDeps,
  { caller, visit, body, idempotency }: Input<typeof contracts.createPayment>,
): Promise<Output<typeof contracts.createPayment>> {
  const { pool, checks, shop, topUpMax, keyPepper, appUrl } = deps
  const { userId, organizationId, email } = caller
  const { amount_rub: amount, saved_card_consent: consentVersion } = body
  const savesCard = consentVersion !== undefined
  if (shop === undefined || (savesCard && shop.savesCards !== true)) return unavailable
  if (amount > topUpMax) return { problem: tooMuch(topUpMax) }
  const noted = await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
    once(client, { userId }, idempotency, async () => {
      if (!(await hasAcceptedOffer(client, userId))) return { problem: { code: 'consent_outdated' } }
      if (await hasOpenPayments(client, organizationId, openPaymentsMax))
        return { problem: { code: 'too_many_open_payments' } }
      const document = savesCard ? await readVersionInForce(client, 'saved_card', visit.locale) : undefined
      if (document?.version !== consentVersion) return { problem: { code: 'consent_outdated' } }
      const id = randomUUID()
      const returnUrl = `${appUrl}/app/billing/return?payment=${id}`
      const callBody = paymentBody({ id, amount, email, receipt: shop.receipt, returnUrl, savesCard })
      const consent = document && (await insertConsent(client, { userId, document, place: visit }))
      const payment = { id, organizationId, userId, amount, addressHash: addressHash(email, keyPepper) }
      await insertPayment(client, { ...payment, callBody, cardConsentId: consent?.id ?? null })
      const done = { status: 201, body: { id } }
      return { fresh: done, kept: done }
    }),
  )
  if ('problem' in noted) return noted
  await checks.ask({ id: noted.body.id, organizationId })
  const payment = await findOwn(pool, organizationId, noted.body.id)
  if (payment === undefined) throw new Error(`payment ${noted.body.id} does not exist`)
  return { status: 201, body: show(payment) }
}

async function refresh(
  { pool, shop, throttles, checks }: PaymentDeps,
  { caller: { organizationId }, params }: Input<typeof contracts.refreshPayment>,
): Promise<Output<typeof contracts.refreshPayment>> {
  const payment = await findOwn(pool, organizationId, params.payment_id)
  if (payment === undefined) return notFound
  if (shop === undefined) return unavailable
  const waitS = await throttles.count(refreshRate, payment.id)
  if (waitS > 0) return { problem: { code: 'rate_limited', retryAfterS: waitS } }
  if ((await checks.ask(payment)) === 'unavailable') return unavailable
  const now = await findOwn(pool, organizationId, payment.id)
  return now === undefined ? notFound : { status: 200, body: show(now) }
}

async function findOwn(pool: Pool, organizationId: string, id: string): Promise<StoredPayment | undefined> {
  if (!isId(id)) return undefined
  return inReadScope(pool, organizationId, (client) => findPayment(client, organizationId, id))
}
