import { z } from 'zod'
import { timeInId } from '../db/id.ts'
import type { ArchiveStore } from './archive-store.ts'
import { chargeTable } from './internal/archive-table.ts'

/** A charge that left the ledger, with its place in its account and the account's balance there. */
export type ArchivedCharge = {
  readonly place: bigint
  readonly ts: Date
  readonly refId: string
  readonly amountNano: bigint
  readonly balanceNano: bigint
  readonly keyId: string
  readonly model: string | null
  /** As Postgres had them. */
  readonly tokens: unknown
}

export type ChargesWanted = {
  /** The first instant, or `null`. */
  readonly from: Date | null
  /** The first instant that is not asked for, or `null`. */
  readonly to: Date | null
  /** Charges of places between these two, which are not part of them. */
  readonly after?: bigint | undefined
  readonly before?: bigint | undefined
  readonly limit: number
}

const rowSchema = z.object({
  place_text: z.string(),
  ts_text: z.string(),
  ref_text: z.string(),
  amount_text: z.string(),
  balance_text: z.string(),
  key_text: z.string(),
  model: z.string(),
  tokens: z.string(),
})

/** Reads whether the archive has a table of charges. @throws ArchiveProblem, ArchiveUnavailable */
export function checkChargeArchive(store: ArchiveStore): Promise<void> {
  return store.check(chargeTable)
}

/** An organization's charges in the archive, the last places first. @throws ArchiveUnavailable */
export function readArchivedCharges(
  store: ArchiveStore,
  organizationId: string,
  { from, to, after, before, limit }: ChargesWanted,
): Promise<readonly ArchivedCharge[]> {
  const conditions = [
    from !== null && `ts >= ${from.getTime()}`,
    to !== null && `ts < ${to.getTime()}`,
    after !== undefined && `place > ${after}`,
    before !== undefined && `place < ${before}`,
  ].filter((condition) => condition !== false)
  return readCharges(store, organizationId, conditions, limit)
}

/** The charge of a request. Its id has its time. @throws ArchiveUnavailable */
export async function findArchivedCharge(
  store: ArchiveStore,
  organizationId: string,
  requestId: string,
): Promise<ArchivedCharge | undefined> {
  const [charge] = await readCharges(
    store,
    organizationId,
    [`ts = ${timeInId(requestId)}`, `ref_id = toUUID('${requestId}')`],
    1,
  )
  return charge
}

/** Both ids are UUIDs. */
async function readCharges(
  store: ArchiveStore,
  organizationId: string,
  conditions: readonly string[],
  limit: number,
): Promise<readonly ArchivedCharge[]> {
  const rows = await store.read(
    `select toString(place) as place_text, toString(ts) as ts_text, toString(ref_id) as ref_text,
            toString(amount) as amount_text, toString(balance) as balance_text, toString(api_key_id) as key_text,
            model, tokens
       from ${chargeTable.name} final
      where ${[`organization_id = toUUID('${organizationId}')`, ...conditions].join(' and ')}
      order by place desc limit ${limit}`,
    rowSchema,
  )
  return rows.map((row) => ({
    place: BigInt(row.place_text),
    ts: new Date(Number(row.ts_text)),
    refId: row.ref_text,
    amountNano: BigInt(row.amount_text),
    balanceNano: BigInt(row.balance_text),
    keyId: row.key_text,
    model: row.model === '' ? null : row.model,
    tokens: row.tokens === '' ? null : JSON.parse(row.tokens),
  }))
}
