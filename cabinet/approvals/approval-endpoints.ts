import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { credit } from '#core/ledger/credit'
import type { NanoRub } from '#core/ledger/money'
import type { Administrator } from '../api/access.ts'
import { type Endpoint, endpoint, type Idempotency, type Visit } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { toPage } from '../api/page.ts'
import { notFound, type Problem } from '../api/problem.ts'
import { approve, decline, listApprovals, type ShownApproval } from './approval-contracts.ts'
import { decideOrder, holdOrder, readOrders, type StoredOrder } from './internal/order-store.ts'
import { showApproval } from './internal/shown-approval.ts'
import { getApproval } from './money-order.ts'
import { belongsTo } from './own-organization.ts'

/** How an approved refund is carried out: its row in the transaction of the approval, its call after it. */
export type ApprovedRefunds = {
  note(
    client: ScopedClient,
    refund: {
      readonly id: string
      readonly paymentId: string
      readonly amount: NanoRub
      readonly madeBy: string
      readonly reason: string
    },
  ): Promise<{ readonly problem: Problem } | undefined>
  /** May be called again: it calls the provider once. */
  call(refundId: string): Promise<void>
}

/** How an approved write-off of a rejected charge is carried out, in the transaction of the approval. */
export type ApprovedWriteOffs = {
  make(
    client: ScopedClient,
    writeOff: { readonly chargeId: string; readonly by: string; readonly reason: string },
  ): Promise<{ readonly problem: Problem } | undefined>
}

type ApprovalDeps = {
  readonly pool: Pool
  readonly refunds: ApprovedRefunds
  readonly writeOffs: ApprovedWriteOffs
}

type Asked = {
  readonly caller: Administrator
  readonly visit: Visit
  readonly params: { readonly approval_id: string }
  readonly body: { readonly reason: string }
  readonly idempotency: Idempotency
}

type Decide = (
  client: ScopedClient,
  order: StoredOrder,
  asked: Asked,
) => Promise<{ readonly problem: Problem } | undefined>

/** Endpoints with which administrators decide what others have ordered. */
export function approvalEndpoints(deps: ApprovalDeps): readonly Endpoint[] {
  const { pool, refunds } = deps
  return [
    endpoint(listApprovals, async ({ query: { state, limit, cursor } }) => {
      const orders = await inReadScope(pool, null, (client) =>
        readOrders(client, { state, after: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(orders, limit, showApproval, ({ position, id }) => [position, id]) }
    }),

    endpoint(approve, async (input) => {
      const answer = await decideOnce(pool, input, (client, order, asked) =>
        approveOrder(deps, client, order, asked),
      )
      if (!('problem' in answer) && answer.body.kind === 'refund') await refunds.call(answer.body.id)
      return answer
    }),

    endpoint(decline, (input) =>
      decideOnce(pool, input, async (client, order, { caller, body }) => {
        await decideOrder(client, order, { state: 'declined', by: caller.administratorId, ...body })
        return undefined
      }),
    ),
  ]
}

/** Decides a pending order once per idempotency key, in one transaction with what follows from it. */
async function decideOnce(
  pool: Pool,
  asked: Asked,
  decide: Decide,
): Promise<{ readonly status: 200; readonly body: ShownApproval } | { readonly problem: Problem }> {
  const { caller, visit, params, body, idempotency } = asked
  const id = params.approval_id
  if (!isId(id)) return notFound
  const scope = scopeOfAdministrator(caller.administratorId, visit, body.reason)
  const answer = await inScope(pool, scope, (client) =>
    once<ShownApproval, { readonly status: number; readonly body: ShownApproval }>(
      client,
      { administratorId: caller.administratorId },
      idempotency,
      async () => {
        const order = await holdOrder(client, id)
        if (order === undefined) return notFound
        if (order.state !== 'pending') return { problem: { code: 'already_decided' } }
        const refused = await decide(client, order, asked)
        if (refused !== undefined) return refused
        const done = { status: 200, body: await getApproval(client, id) }
        return { fresh: done, kept: done }
      },
    ),
  )
  return 'problem' in answer ? answer : { status: 200, body: answer.body }
}

/** Money moves in the transaction that approves it. */
async function approveOrder(
  deps: ApprovalDeps,
  client: ScopedClient,
  order: StoredOrder,
  { caller, body }: Asked,
): Promise<{ readonly problem: Problem } | undefined> {
  const { organizationId, orderedBy } = order
  if (orderedBy === caller.administratorId || (await belongsTo(client, caller, organizationId)))
    return { problem: { code: 'another_administrator_required' } }
  const refused = await carryOut(deps, client, order)
  if (refused !== undefined) return refused
  await decideOrder(client, order, { state: 'approved', by: caller.administratorId, ...body })
  return undefined
}

async function carryOut(
  { refunds, writeOffs }: ApprovalDeps,
  client: ScopedClient,
  { id, organizationId, paymentId, chargeId, amount, orderedBy, reason }: StoredOrder,
): Promise<{ readonly problem: Problem } | undefined> {
  if (paymentId !== null) return refunds.note(client, { id, paymentId, amount, madeBy: orderedBy, reason })
  if (chargeId !== null) return writeOffs.make(client, { chargeId, by: orderedBy, reason })
  await credit(client, { organizationId, kind: 'adjustment', refId: id, amount })
  return undefined
}
