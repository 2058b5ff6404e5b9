import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { notFound, type Problem } from '../api/problem.ts'
import { findCabinetAddress } from '../mail/cabinet-address.ts'
import { mailboxOf } from '../mail/mailbox.ts'
import { isRuleOn } from './internal/order-store.ts'
import {
  decideTotpReset,
  findTotpUser,
  getTotpReset,
  holdTotpReset,
  insertTotpReset,
  readTotpResets,
  type TotpReset,
} from './internal/totp-reset-store.ts'
import {
  approveTotpReset,
  declineTotpReset,
  listTotpResets,
  requestTotpReset,
  type ShownTotpReset,
} from './totp-reset-contracts.ts'

/**
 * Endpoints with which two administrators have a lost second factor removed. Postgres emails the user and sets the delay
 * of a day, and a worker removes the second factor.
 */
export function totpResetEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(listTotpResets, async ({ query: { limit, cursor } }) => {
      const resets = await inReadScope(pool, null, (client) =>
        readTotpResets(client, { after: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(resets, limit, showTotpReset, ({ position, id }) => [position, id]) }
    }),

    endpoint(requestTotpReset, async (input) => {
      if (!isId(input.params.user_id)) return notFound
      const requested = await inScope(pool, scopeOf(input), (client) => request(client, input))
      return 'problem' in requested ? requested : { status: 201, body: showTotpReset(requested) }
    }),

    endpoint(approveTotpReset, (input) =>
      decide(pool, input, async (client, reset) => {
        if (reset.state !== 'pending') return { problem: { code: 'already_decided' } }
        const { administratorId, email } = input.caller
        // An administrator who is the user would approve their own reset.
        if (reset.orderedBy === administratorId || mailboxOf(reset.userEmail) === mailboxOf(email))
          return { problem: { code: 'another_administrator_required' } }
        const failed = await whyImpossible(client, reset.userId)
        if (failed !== undefined) return failed
        await decideTotpReset(client, reset, { state: 'scheduled', by: administratorId, ...input.body })
        return undefined
      }),
    ),

    endpoint(declineTotpReset, (input) =>
      decide(pool, input, async (client, reset) => {
        if (reset.state !== 'pending' && reset.state !== 'scheduled')
          return { problem: { code: 'already_decided' } }
        const by = input.caller.administratorId
        await decideTotpReset(client, reset, { state: 'declined', by, ...input.body })
        return undefined
      }),
    ),
  ]
}

async function request(
  client: ScopedClient,
  { caller, params, body }: Input<typeof requestTotpReset>,
): Promise<TotpReset | { readonly problem: Problem }> {
  const user = await findTotpUser(client, params.user_id)
  if (user === undefined) return notFound
  const failed = await whyImpossible(client, user.id)
  if (failed !== undefined) return failed
  const state = (await isRuleOn(client)) ? 'pending' : 'scheduled'
  const id = await insertTotpReset(client, user, { orderedBy: caller.administratorId, state, ...body })
  return id === undefined ? { problem: { code: 'conflict' } } : getTotpReset(client, id)
}

/** Without the cabinet's address, the email has no link that cancels. */
async function whyImpossible(
  client: ScopedClient,
  userId: string,
): Promise<{ readonly problem: Problem } | undefined> {
  const user = await findTotpUser(client, userId)
  if (user?.hasTotp !== true) return { problem: { code: 'conflict' } }
  if ((await findCabinetAddress(client)) === undefined) return { problem: { code: 'service_unavailable' } }
  return undefined
}

type Decision = Input<typeof approveTotpReset> | Input<typeof declineTotpReset>

async function decide(
  pool: Pool,
  input: Decision,
  work: (client: ScopedClient, reset: TotpReset) => Promise<{ readonly problem: Problem } | undefined>,
): Promise<{ readonly status: 200; readonly body: ShownTotpReset } | { readonly problem: Problem }> {
  const { reset_id: id } = input.params
  if (!isId(id)) return notFound
  return inScope(pool, scopeOf(input), async (client) => {
    const reset = await holdTotpReset(client, id)
    if (reset === undefined) return notFound
    const failed = await work(client, reset)
    return failed ?? { status: 200, body: showTotpReset(await getTotpReset(client, id)) }
  })
}

function scopeOf({ caller, visit, body }: Pick<Input<typeof requestTotpReset>, 'caller' | 'visit' | 'body'>) {
  return scopeOfAdministrator(caller.administratorId, visit, body.reason)
}

/** A removal as administrators see it. Pure. */
function showTotpReset(reset: TotpReset): ShownTotpReset {
  return {
    id: reset.id,
    user_id: reset.userId,
    user_email: reset.userEmail,
    reason: reset.reason,
    requested_by: reset.orderedBy,
    requested_by_email: reset.orderedByEmail,
    requested_at: reset.orderedAt.toISOString(),
    expires_at: reset.expiresAt.toISOString(),
    state: reset.state,
    decided_by: reset.decidedBy,
    decided_at: reset.decidedAt?.toISOString() ?? null,
    decision_reason: reset.decisionReason,
    due_at: reset.dueAt?.toISOString() ?? null,
    ended_at: reset.endedAt?.toISOString() ?? null,
  }
}
