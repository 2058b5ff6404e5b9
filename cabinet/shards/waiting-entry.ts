import { z } from 'zod'
import { requestRecordSchema } from '../ledger/request-record.ts'
import { amountNanoMax, type ChargeRank } from './admission.ts'
import type { WaitingEntry } from './posting.ts'

const amount = z
  .string()
  .regex(/^-?\d{1,18}$/)
  .transform(BigInt)
const cost = amount.refine((value) => value >= 0n && value <= amountNanoMax, 'not the cost of one request')
const whole = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

const record = z.string().transform((text, context) => {
  try {
    return requestRecordSchema.parse(JSON.parse(text))
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : 'not JSON')
    return z.NEVER
  }
})

/** An entry's fields, as `book` in `ending.lua` writes them. */
const entrySchema = z.object({
  request: z.uuid(),
  rank: z.enum(['0', '1', '2']).transform((text): ChargeRank => (text === '0' ? 0 : text === '1' ? 1 : 2)),
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
    rank: data.rank,
    organizationId: data.organization,
    keyId: data.key,
    day: data.day,
    costNano: data.cost,
    pendingNano: data.pending,
    record: data.record,
  }
}
