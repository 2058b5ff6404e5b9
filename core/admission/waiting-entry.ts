import { z } from 'zod'
import { isId } from '../db/id.ts'
import { type ChargeKind, findChargeKind, rankOf } from '../ledger/charge-kind.ts'
import { type RequestRecord, requestRecordSchema } from '../ledger/request-record.ts'
import { amountNanoMax } from './admission.ts'

/** One end of a request, waiting in a shard's stream for Postgres. */
export type WaitingCharge = {
  readonly kind: 'charge'
  /** Id in the stream; `apply` takes it. */
  readonly streamId: string
  readonly requestId: string
  readonly chargeKind: ChargeKind
  readonly organizationId: string
  readonly keyId: string
  /** Day of admission in the organization's time zone, days since 1970-01-01. */
  readonly day: number
  readonly costNano: bigint
  /**
   * The amount that this entry added to `pending`. Not a price: differs from the cost when an earlier entry
   * counted already.
   */
  readonly pendingNano: bigint
  readonly record: RequestRecord
}

/** An entry that cannot be parsed. It goes to `charges_rejected` unchanged and raises an alert. */
type MalformedEntry = {
  readonly kind: 'malformed'
  readonly streamId: string
  readonly fields: Readonly<Record<string, string>>
  readonly problem: string
}

export type WaitingEntry = WaitingCharge | MalformedEntry

/** The part of an entry that identifies it. */
export type NamedEntry =
  | Pick<WaitingCharge, 'kind' | 'streamId' | 'requestId' | 'chargeKind'>
  | MalformedEntry

/**
 * The identity of an entry: id, request and rank. An id is not enough, because Redis reuses ids after losing
 * the last ones. Empty replaces an invalid request or rank.
 */
export function namesOf(entry: NamedEntry): readonly [id: string, request: string, rank: string] {
  if (entry.kind === 'charge') return [entry.streamId, entry.requestId, String(rankOf(entry.chargeKind))]
  const { request = '', rank = '' } = entry.fields
  return [entry.streamId, isId(request) ? request : '', findChargeKind(rank) === undefined ? '' : rank]
}

const amount = z
  .string()
  .regex(/^-?\d{1,18}$/)
  .transform(BigInt)
const cost = amount.refine(
  (value) => value >= 0n && value <= amountNanoMax,
  'is not a possible cost of one request',
)
const whole = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

const rank = z.string().transform((text, context) => {
  const kind = findChargeKind(text)
  if (kind !== undefined) return kind
  context.addIssue('not the rank of a charge')
  return z.NEVER
})

const record = z.string().transform((text, context) => {
  try {
    return requestRecordSchema.parse(JSON.parse(text))
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : 'is not JSON')
    return z.NEVER
  }
})

/** An entry's fields, as `book` in `ending.lua` writes them. */
const entrySchema = z.object({
  request: z.uuid(),
  rank,
  organization: z.uuid(),
  key: z.uuid(),
  day: whole,
  cost,
  pending: amount,
  record,
})

/** The entry that a list of names and values is. Never throws: what cannot be read is `malformed`. */
export function parseEntry(streamId: string, flat: readonly string[]): WaitingEntry {
  const fields: Record<string, string> = {}
  for (let at = 0; at + 1 < flat.length; at += 2) fields[flat[at] ?? ''] = flat[at + 1] ?? ''
  const { success, data, error } = entrySchema.safeParse(fields)
  if (!success) return { kind: 'malformed', streamId, fields, problem: z.prettifyError(error) }
  return {
    kind: 'charge',
    streamId,
    requestId: data.request,
    chargeKind: data.rank,
    organizationId: data.organization,
    keyId: data.key,
    day: data.day,
    costNano: data.cost,
    pendingNano: data.pending,
    record: data.record,
  }
}
