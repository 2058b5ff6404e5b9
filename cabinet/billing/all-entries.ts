import type { Pool } from 'pg'
import { type ArchiveStore, ArchiveUnavailable } from '#core/archive/archive-store'
import {
  type ArchivedCharge,
  checkChargeArchive,
  findArchivedCharge,
  readArchivedCharges,
} from '#core/archive/archived-charges'
import { inReadScope } from '#core/audit/scope'
import { timeInId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { readKeyNames } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { tokenClassesSchema } from '#core/ledger/request-record'
import type { Piece } from '../api/csv-rows.ts'
import { type LedgerFilter, type LedgerRow, readLedger } from './internal/ledger-rows.ts'
import type { Span } from './internal/span.ts'

type Page = { readonly before: bigint | undefined; readonly limit: number }

/**
 * Every ledger entry of an organization: from Postgres, and charges of months that left it from the archive. Both may be in one
 * page. Places that need the archive while it does not answer: ArchiveUnavailable; later ones are not affected.
 */
export type AllEntries = {
  /** At most `limit` entries, the last places first; as `readLedger`. */
  page(organizationId: string, filter: LedgerFilter, page: Page): Promise<Piece<LedgerRow, bigint>>
  /** Reads whether the archive answers, if the span needs it: an export must not end halfway. */
  reach(organizationId: string, filter: LedgerFilter): Promise<void>
  /** The charge of a request, if it left Postgres. */
  findCharge(organizationId: string, requestId: string): Promise<LedgerRow | undefined>
}

/** @param archive `undefined`: the process has no URL of it; then nothing should have left Postgres. */
export function allEntries(pool: Pool, archive: ArchiveStore | undefined): AllEntries {
  const findPlace = (organizationId: string, wanted: Wanted) =>
    inReadScope(pool, organizationId, (client) => findLastPlace(client, organizationId, wanted))

  async function withNames(organizationId: string, charges: readonly ArchivedCharge[]): Promise<LedgerRow[]> {
    const names = await inReadScope(pool, organizationId, (client) =>
      readKeyNames(client, organizationId, [...new Set(charges.map(({ keyId }) => keyId))]),
    )
    return charges.map((charge) => rowOf(charge, names))
  }

  return {
    async page(organizationId, filter, { before, limit }) {
      const readMax = limit + 1
      const recent = await inReadScope(pool, organizationId, (client) =>
        readLedger(client, organizationId, filter, { before, limit: readMax }),
      )
      // Read after the rows: a month may leave in between, and its charges are then in one of both at least.
      const wanted = { ...filter, before, after: recent.length === readMax ? recent.at(-1)?.seq : undefined }
      const lastPlace = mayBeCharge(filter) ? await findPlace(organizationId, wanted) : undefined
      if (lastPlace === undefined) return pieceOf(recent, limit)
      try {
        const older = await readArchivedCharges(open(archive), organizationId, { ...wanted, limit: readMax })
        return pieceOf(merged(recent, await withNames(organizationId, older)), limit)
      } catch (error) {
        // The page ends where the archive begins, and only the next one fails.
        const later = recent.filter(({ seq }) => seq > lastPlace)
        if (error instanceof ArchiveUnavailable && later.length > 0)
          return { rows: later, next: later.at(-1)?.seq }
        throw error
      }
    },
    async reach(organizationId, filter) {
      if (mayBeCharge(filter) && (await findPlace(organizationId, filter)) !== undefined)
        await checkChargeArchive(open(archive))
    },
    async findCharge(organizationId, requestId) {
      const atMs = timeInId(requestId)
      const instant = { from: new Date(atMs), to: new Date(atMs + 1) }
      if ((await findPlace(organizationId, instant)) === undefined) return undefined
      const charge = await findArchivedCharge(open(archive), organizationId, requestId)
      return charge === undefined ? undefined : (await withNames(organizationId, [charge]))[0]
    },
  }
}

function open(archive: ArchiveStore | undefined): ArchiveStore {
  if (archive === undefined) throw new ArchiveUnavailable(new Error('CLICKHOUSE_URL is not set'))
  return archive
}

/** Entries of a span of time, and between two places, which are not part of them. */
type Wanted = Span & { readonly after?: bigint | undefined; readonly before?: bigint | undefined }

/**
 * The last place of charges that left Postgres and may be wanted; `undefined`: there are none. In an account with one lane a place
 * is a `seq`. So a late charge, which is of an old month and has a new place, is no reason to read the archive for others.
 */
async function findLastPlace(
  client: Queryable,
  organizationId: string,
  { from, to, after, before }: Wanted,
): Promise<bigint | undefined> {
  const { rows } = await client.query<{ lastPlace: bigint | null }>(
    `select max(case when o.lanes > 1 then a.last_place
                     else upper(a.seqs * int8multirange(int8range($4::bigint, $5::bigint, '()'))) - 1 end) as "lastPlace"
       from archived_ledger a
       join archived_ledger_months m on m.name = a.month
       join org_account o on o.organization_id = a.organization_id
      where a.organization_id = $1
        and ($2::timestamptz is null or m.to_at > $2) and ($3::timestamptz is null or m.from_at < $3)
        and ($4::bigint is null or a.last_place > $4) and ($5::bigint is null or a.first_place < $5)
        and (o.lanes > 1 or a.seqs && int8range($4::bigint, $5::bigint, '()'))`,
    [organizationId, from, to, after ?? null, before ?? null],
  )
  return rows[0]?.lastPlace ?? undefined
}

function mayBeCharge({ kind }: LedgerFilter): boolean {
  return kind === undefined || kind === 'charge'
}

function merged(recent: readonly LedgerRow[], older: readonly LedgerRow[]): LedgerRow[] {
  const bySeq = new Map([...older, ...recent].map((row) => [row.seq, row]))
  return [...bySeq.values()].sort((a, b) => (a.seq < b.seq ? 1 : -1))
}

function pieceOf(rows: readonly LedgerRow[], limit: number): Piece<LedgerRow, bigint> {
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? page.at(-1)?.seq : undefined }
}

function rowOf(charge: ArchivedCharge, names: ReadonlyMap<string, string>): LedgerRow {
  const { place, ts, refId, amountNano, balanceNano, keyId, model, tokens } = charge
  return {
    seq: place,
    ts,
    kind: 'charge',
    refId,
    amount: nanoRub(amountNano),
    balanceAfter: nanoRub(balanceNano),
    keyId,
    keyName: names.get(keyId) ?? null,
    model,
    tokens: tokens === null ? null : tokenClassesSchema.parse(tokens),
  }
}
