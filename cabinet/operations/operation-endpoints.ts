import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { findMeasuredBacklog, type MeasuredBacklog } from '#core/admission/measured-backlog'
import { type ChainCheck, findChainCheck } from '#core/audit/chain-check'
import { inReadScope, inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { formatRub, type NanoRub } from '#core/ledger/money'
import type { Administrator } from '../api/access.ts'
import { type Endpoint, endpoint, type Idempotency, type Output, type Visit } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { toPage } from '../api/page.ts'
import { notFound, type Problem } from '../api/problem.ts'
import type { ShownApproval } from '../approvals/approval-contracts.ts'
import { getApproval, orderMoney } from '../approvals/money-order.ts'
import { belongsTo } from '../approvals/own-organization.ts'
import { problemOf } from './internal/decision-problem.ts'
import { dayCountMax, readDaySpan, readLedgerDays, readTotals } from './internal/ledger-days.ts'
import { countOpen, readGateways, readInvariants, readRevision } from './internal/platform-state.ts'
import {
  decideRejectedCharge,
  findRejectedCharge,
  holdRejectedCharge,
  type RejectedCharge,
  readRejectedCharges,
  showRejectedCharge,
  writeOffOf,
} from './internal/rejected-charges.ts'
import * as contracts from './operation-contracts.ts'

type OperationDeps = {
  readonly pool: Pool
  /** What one administrator may move for one organization in 24 hours. */
  readonly aloneMax: NanoRub
}

/** Endpoints with which administrators see the platform as a whole, and decide rejected charges. */
export function operationEndpoints({ pool, aloneMax }: OperationDeps): readonly Endpoint[] {
  return [
    endpoint(contracts.readDays, ({ query, visit }) => showDays(pool, query, visit)),
    endpoint(contracts.readState, () => showState(pool)),
    endpoint(contracts.listRejectedCharges, async ({ query: { state, limit, cursor } }) => {
      const charges = await inReadScope(pool, null, (client) =>
        readRejectedCharges(client, { state, after: cursor, limit: limit + 1 }),
      )
      const body = toPage(charges, limit, showRejectedCharge, ({ position, id }) => [position, id])
      return { status: 200, body }
    }),
    endpoint(contracts.postRejectedCharge, async (input) => {
      const by = input.caller.administratorId
      const answer = await decideOnce(pool, input, (client, charge) =>
        carryOut(client, charge, { decision: 'posted', by, reason: input.body.reason }),
      )
      return 'problem' in answer ? answer : { status: 200, body: answer.body }
    }),
    endpoint(contracts.writeOffRejectedCharge, async (input) => {
      const answer = await decideOnce(pool, input, (client, charge) =>
        writeOff(client, charge, input, aloneMax),
      )
      if ('problem' in answer) return answer
      return 'kind' in answer.body ? { status: 202, body: answer.body } : { status: 200, body: answer.body }
    }),
  ]
}

/** All of one snapshot, so that the totals agree to the nano-ruble while charges are posted. */
async function showDays(
  pool: Pool,
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  { locale }: Visit,
) {
  return inReadScope(pool, null, async (client) => {
    const { dayCount, ...span } = await readDaySpan(client, { from: query.from, to: query.to })
    if (dayCount < 1 || dayCount > dayCountMax) return { problem: wrongSpan(locale) }
    const days = await readLedgerDays(client, span)
    const { ledger, accounts } = await readTotals(client)
    const data = days.map(({ day, ...sums }) => ({
      day,
      top_ups_rub: formatRub(sums.topUps),
      charges_rub: formatRub(sums.charges),
      bonuses_rub: formatRub(sums.bonuses),
      refunds_rub: formatRub(sums.refunds),
      adjustments_rub: formatRub(sums.adjustments),
      balances_rub: formatRub(sums.balances),
    }))
    const totals = { ledger_rub: formatRub(ledger), accounts_rub: formatRub(accounts) }
    return { status: 200, body: { ...span, data, ...totals } } as const
  })
}

function wrongSpan(locale: 'en' | 'ru'): Problem {
  const message = {
    en: `must be a day from "from" to ${dayCountMax - 1} days after it`,
    ru: `должно быть днём от «from» до ${dayCountMax - 1}-го дня после него`,
  }[locale]
  return { code: 'validation_failed', errors: [{ path: 'to', code: 'span', message }] }
}

async function showState(pool: Pool): Promise<Output<typeof contracts.readState>> {
  const state = await inReadScope(pool, null, async (client) => ({
    invariants: await readInvariants(client),
    gateways: await readGateways(client),
    revision: await readRevision(client),
    open: await countOpen(client),
    backlog: await findMeasuredBacklog(client),
    auditLog: await findChainCheck(client),
  }))
  const { lookedAt, auditedAt, breaches } = state.invariants
  return {
    status: 200,
    body: {
      invariants: {
        looked_at: lookedAt?.toISOString() ?? null,
        audited_at: auditedAt?.toISOString() ?? null,
        breaches: [...breaches],
      },
      audit_log: state.auditLog === undefined ? null : showChainCheck(state.auditLog),
      backlog: state.backlog === undefined ? null : showBacklog(state.backlog),
      catalog_revision: String(state.revision),
      gateways: state.gateways.map(({ id, version, revision, changedAt, unhealthy }) => ({
        id,
        version,
        revision: String(revision),
        changed_at: changedAt.toISOString(),
        unhealthy: Object.entries(unhealthy).map(([name, trouble]) => ({ name, trouble })),
      })),
      open: {
        rejected_charges: state.open.rejectedCharges,
        payment_differences: state.open.differences,
        waiting_notifications: state.open.notifications,
        waiting_emails: state.open.emails,
      },
    },
  }
}

function showChainCheck({ checkedAt, linkedCount, badCount, firstBadId, firstBadWhy }: ChainCheck) {
  return {
    checked_at: checkedAt.toISOString(),
    row_count: linkedCount,
    bad_count: badCount,
    first_bad_id: firstBadId,
    first_bad_why: firstBadWhy,
  }
}

function showBacklog(backlog: MeasuredBacklog) {
  return {
    measured_at: backlog.measuredAt.toISOString(),
    charges_unposted: backlog.unpostedCount,
    oldest_charge_seconds: backlog.oldestUnpostedMs / 1000,
    holds: backlog.holdCount,
    overdue_hold_seconds: backlog.longestOverdueMs / 1000,
    shards_unavailable: backlog.shutShardCount,
  }
}

type Asked = {
  readonly caller: Administrator
  readonly visit: Visit
  readonly params: { readonly charge_id: string }
  readonly body: { readonly reason: string }
  readonly idempotency: Idempotency
}

/** Decides a charge once per idempotency key, in one transaction with what follows from it. */
async function decideOnce<Body extends object>(
  pool: Pool,
  { caller, visit, params, body, idempotency }: Asked,
  decide: (
    client: ScopedClient,
    charge: RejectedCharge,
  ) => Promise<{ readonly body: Body } | { readonly problem: Problem }>,
): Promise<{ readonly body: Body } | { readonly problem: Problem }> {
  const id = params.charge_id
  if (!isId(id)) return notFound
  const scope = scopeOfAdministrator(caller.administratorId, visit, body.reason)
  return inScope(pool, scope, (client) =>
    once<Body, { readonly status: number; readonly body: Body }>(
      client,
      { administratorId: caller.administratorId },
      idempotency,
      async () => {
        await holdRejectedCharge(client, id)
        const charge = await findRejectedCharge(client, id)
        if (charge === undefined) return notFound
        if (charge.decision !== null) return { problem: { code: 'already_decided' } }
        const { organizationId } = charge
        if (organizationId !== null && (await belongsTo(client, caller, organizationId)))
          return { problem: { code: 'another_administrator_required' } }
        const decided = await decide(client, charge)
        if ('problem' in decided) return decided
        const done = { status: 200, body: decided.body }
        return { fresh: done, kept: done }
      },
    ),
  )
}

/**
 * A write-off moves money of the platform like an adjustment, so the two-person rule applies to it. While one of this charge
 * waits for approval, that is the answer.
 */
async function writeOff(
  client: ScopedClient,
  charge: RejectedCharge,
  { caller, body: { reason } }: Asked,
  aloneMax: NanoRub,
): Promise<{ readonly body: ShownApproval | contracts.ShownRejectedCharge } | { readonly problem: Problem }> {
  if (charge.pendingApprovalId !== null) return { body: await getApproval(client, charge.pendingApprovalId) }
  const moved = writeOffOf(charge)
  if (moved !== undefined) {
    const order = { ...moved, id: randomUUID(), kind: 'write_off', chargeId: charge.id, reason } as const
    const ordered = await orderMoney(client, caller, order, aloneMax)
    if (ordered !== 'carry_out') return { body: ordered }
  }
  return carryOut(client, charge, { decision: 'written_off', by: caller.administratorId, reason })
}

async function carryOut(
  client: ScopedClient,
  { id }: RejectedCharge,
  decision: Parameters<typeof decideRejectedCharge>[2],
): Promise<{ readonly body: contracts.ShownRejectedCharge } | { readonly problem: Problem }> {
  const problem = problemOf(await decideRejectedCharge(client, id, decision))
  return problem === undefined ? { body: showRejectedCharge(await getDecided(client, id)) } : { problem }
}

async function getDecided(client: ScopedClient, id: string) {
  const charge = await findRejectedCharge(client, id)
  if (charge === undefined) throw new Error(`rejected charge ${id} does not exist`)
  return charge
}
