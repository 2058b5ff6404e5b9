import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfPerson } from '#core/audit/scope'
import type { NanoRub } from '#core/ledger/money'
import type { Locale } from '../api/access.ts'
import { type Endpoint, endpoint, type Input, type Output } from '../api/endpoint.ts'
import { notFound } from '../api/problem.ts'
import { readVersionInForce } from '../legal/legal-texts.ts'
import * as contracts from './auto-top-up-contracts.ts'
import { readAutoTopUp, removeSavedCard, setAutoTopUp } from './internal/auto-top-up-store.ts'
import { tooMuch } from './internal/too-much.ts'
import type { ShopTerms } from './payment-settings.ts'

type AutoTopUpDeps = {
  readonly pool: Pool
  /** `undefined`: payments are not configured. */
  readonly shop: ShopTerms | undefined
  readonly topUpMax: NanoRub
}

/** Endpoints for the saved card of an organization and its automatic top-ups. The worker charges the card. */
export function autoTopUpEndpoints(deps: AutoTopUpDeps): readonly Endpoint[] {
  const { pool } = deps
  return [
    endpoint(contracts.readAutoTopUp, async ({ caller: { organizationId }, visit }) => ({
      status: 200,
      body: await show(deps, organizationId, visit.locale),
    })),
    endpoint(contracts.setAutoTopUp, (input) => set(deps, input)),
    endpoint(contracts.endAutoTopUp, async ({ caller: { userId, organizationId }, visit }) => {
      await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
        removeSavedCard(client, organizationId, visit),
      )
      return { status: 204 } as const
    }),
  ]
}

async function set(
  deps: AutoTopUpDeps,
  { caller, visit, body }: Input<typeof contracts.setAutoTopUp>,
): Promise<Output<typeof contracts.setAutoTopUp>> {
  const { pool, shop, topUpMax } = deps
  const { userId, organizationId } = caller
  if (shop?.savesCards !== true) return { problem: { code: 'payments_unavailable' } }
  if (body.amount_rub > topUpMax) return { problem: tooMuch(topUpMax) }
  const settings = {
    threshold: body.threshold_rub,
    amount: body.amount_rub,
    dailyMax: body.daily_max_rub,
  }
  const outcome = await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
    setAutoTopUp(client, { userId, organizationId }, settings),
  )
  if (outcome === 'no_card') return notFound
  if (outcome === 'not_own_card') return { problem: { code: 'not_own_card' } }
  return { status: 200, body: await show(deps, organizationId, visit.locale) }
}

async function show({ pool, shop }: AutoTopUpDeps, organizationId: string, locale: Locale) {
  const shown = await inReadScope(pool, organizationId, (client) => readAutoTopUp(client, organizationId))
  const { version } = await readVersionInForce(pool, 'saved_card', locale)
  return { ...shown, is_available: shop?.savesCards === true, consent_version: version }
}
