import { z } from 'zod'
import type { ScopedClient } from '#core/audit/scope'
import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import { findJson } from '#core/process/json'
import type { ShownRejectedCharge } from '../operation-contracts.ts'

/** A charge that the ledger rejected, as the worker stored it, and what became of it. */
export type RejectedCharge = {
  readonly id: string
  readonly at: Date
  readonly entry: string
  readonly error: string
  /** Its organization, if that exists. */
  readonly organizationId: string | null
  /** `null`: not decided yet. */
  readonly decision: Decision | null
  readonly decidedAt: Date | null
  readonly decidedBy: string | null
  readonly decidedByEmail: string | null
  readonly decisionReason: string | null
  /** Of the write-off that waits for another administrator. */
  readonly pendingApprovalId: string | null
  /** `at` with microseconds, for cursors. */
  readonly position: string
}

export type Decision = 'posted' | 'written_off'

/** What a decision came to. Only the first two have changed anything in the ledger or the list. */
export type DecisionOutcome = Decision | 'rejected' | 'unreadable' | 'decided'

const columns = `c.id, c.at, c.entry, c.error, c.decision, c.decided_at as "decidedAt", c.decided_by as "decidedBy",
  (select a.email from administrators a where a.id = c.decided_by) as "decidedByEmail",
  c.decision_reason as "decisionReason",
  (select o.id from money_orders o where o.charge_id = c.id and o.state = 'pending' and o.expires_at >= clock_timestamp()
    order by o.ordered_at limit 1) as "pendingApprovalId", ${exactTimeSql('c.at')} as position`

/** Newest first; `open`: only those that are not decided. */
export async function readRejectedCharges(
  client: Queryable,
  which: {
    readonly state: 'open' | 'all'
    readonly after: readonly [string, string] | undefined
    readonly limit: number
  },
): Promise<readonly RejectedCharge[]> {
  const [at = null, id = null] = which.after ?? []
  const { rows } = await client.query<Omit<RejectedCharge, 'organizationId'>>(
    `select ${columns} from charges_rejected c
      where ${which.state === 'open' ? 'c.decision is null' : 'true'}
        and ($1::timestamptz is null or (c.at, c.id) < ($1, $2::uuid))
      order by c.at desc, c.id desc limit $3`,
    [at, id, which.limit],
  )
  return withOrganizations(client, rows)
}

/** Lets one decision of a charge be made at a time, so that what is ordered for it is also carried out. */
export async function holdRejectedCharge(client: ScopedClient, id: string): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtextextended('rejected charge ' || $1, 0))", [id])
}

/** What a write-off moves, of whose customer: the charge's size. `undefined`: it moves no money of a customer. Pure. */
export function writeOffOf({
  entry,
  organizationId,
}: RejectedCharge): { readonly organizationId: string; readonly amount: NanoRub } | undefined {
  const cost = findCharge(entry)?.costNano ?? 0n
  if (organizationId === null || cost === 0n) return undefined
  return { organizationId, amount: nanoRub(cost < 0n ? -cost : cost) }
}

export async function findRejectedCharge(client: Queryable, id: string): Promise<RejectedCharge | undefined> {
  const { rows } = await client.query<Omit<RejectedCharge, 'organizationId'>>(
    `select ${columns} from charges_rejected c where c.id = $1`,
    [id],
  )
  const [charge] = await withOrganizations(client, rows)
  return charge
}

/** An entry may name an organization that does not exist: the reason why it was rejected. */
async function withOrganizations(
  client: Queryable,
  charges: readonly Omit<RejectedCharge, 'organizationId'>[],
): Promise<RejectedCharge[]> {
  const named = charges.map(({ entry }) => findCharge(entry)?.organizationId ?? null)
  const { rows } = await client.query<{ id: string }>(
    'select id from organizations where id = any($1::uuid[])',
    [named],
  )
  const known = new Set(rows.map(({ id }) => id))
  return charges.map((charge, index) => {
    const organizationId = named[index] ?? null
    return {
      ...charge,
      organizationId: organizationId !== null && known.has(organizationId) ? organizationId : null,
    }
  })
}

/**
 * Decides a rejected charge, once: a concurrent decision waits, and then finds that it was decided. Posting charges it
 * exactly as settlement does. The attempt is audited even if the ledger rejects the charge again.
 *
 * Returns `undefined` if there is no such charge.
 */
export async function decideRejectedCharge(
  client: ScopedClient,
  id: string,
  decision: { readonly decision: Decision; readonly by: string; readonly reason: string },
): Promise<DecisionOutcome | undefined> {
  const [row] = await client.change<{
    outcome: DecisionOutcome
    organization: string | null
    problem: string | null
  }>(
    'select * from decide_rejected_charge($1, $2, $3, $4)',
    [id, decision.decision, decision.by, decision.reason],
    ([decided]) =>
      decided === undefined || decided.outcome === 'decided' || decided.outcome === 'unreadable'
        ? undefined
        : {
            action: actions[decided.outcome],
            subject: { kind: 'RejectedCharge', id },
            organizationId: decided.organization,
            before: null,
            after: decided.problem === null ? null : { problem: decided.problem },
          },
  )
  return row?.outcome
}

const actions = {
  posted: 'charge.post_again',
  written_off: 'charge.write_off',
  rejected: 'charge.post_again_failed',
} as const

/** The parts of a stored charge that are shown. Other entries could not be read. */
const chargeSchema = z.object({
  kind: z.literal('charge'),
  requestId: z.uuid(),
  organizationId: z.uuid(),
  keyId: z.uuid(),
  costNano: z
    .string()
    .regex(/^-?\d{1,18}$/)
    .transform(BigInt),
  record: z.object({ modelAsked: z.string().optional(), modelRan: z.string().nullish() }),
})

function findCharge(entry: string): z.output<typeof chargeSchema> | undefined {
  return chargeSchema.safeParse(findJson(entry)).data
}

/** Longest part of an entry in a response. */
const entryLengthMax = 4_000

/** A rejected charge as the API returns it. Pure. */
export function showRejectedCharge(charge: RejectedCharge): ShownRejectedCharge {
  const read = findCharge(charge.entry)
  return {
    id: charge.id,
    at: charge.at.toISOString(),
    organization_id: charge.organizationId,
    request_id: read?.requestId ?? null,
    key_id: read?.keyId ?? null,
    model: read?.record.modelRan ?? read?.record.modelAsked ?? null,
    amount_rub: read === undefined ? null : formatRub(nanoRub(read.costNano)),
    can_be_posted: read !== undefined,
    error: charge.error,
    entry: charge.entry.slice(0, entryLengthMax),
    state: charge.decision ?? 'open',
    pending_approval_id: charge.decision === null ? charge.pendingApprovalId : null,
    decided_at: charge.decidedAt?.toISOString() ?? null,
    decided_by: charge.decidedBy,
    decided_by_email: charge.decidedByEmail,
    decision_reason: charge.decisionReason,
  }
}
