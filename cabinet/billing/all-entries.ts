import type { Pool } from 'pg'
import { type ArchiveStore, ArchiveUnavailable } from '#core/archive/archive-store'
import {
  type ArchivedCharge,
  checkChargeArchive,
  findArchivedCharge,
  readArchivedCharges,
} from '#core/archive/archived-charges'
import { inReadScope } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { readKeyNames } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { tokenClassesSchema } from '#core/ledger/request-record'
import type { Piece } from '../api/csv-rows.ts'
import { type LedgerFilter, type LedgerRow, readLedger } from './internal/ledger-rows.ts'

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
  const reachOf = (organizationId: string) =>
    inReadScope(pool, organizationId, (client) => findChargeReach(client, organizationId))

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
      const reach = mayBeCharge(filter) ? await reachOf(organizationId) : undefined
      const after = recent.length === readMax ? recent.at(-1)?.seq : undefined
      if (!isIn(reach, filter, { before, after })) return pieceOf(recent, limit)
      try {
        const wanted = { ...filter, after, before, limit: readMax }
        const older = await readArchivedCharges(open(archive), organizationId, wanted)
        return pieceOf(merged(recent, await withNames(organizationId, older)), limit)
      } catch (error) {
        // The page ends where the archive begins, and only the next one fails.
        const later = recent.filter(({ seq }) => seq > reach.lastPlace)
        if (error instanceof ArchiveUnavailable && later.length > 0)
          return { rows: later, next: later.at(-1)?.seq }
        throw error
      }
    },
    async reach(organizationId, filter) {
      const reach = mayBeCharge(filter) ? await reachOf(organizationId) : undefined
      if (isIn(reach, filter, {})) await checkChargeArchive(open(archive))
    },
    async findCharge(organizationId, requestId) {
      const reach = await reachOf(organizationId)
      if (reach === undefined || timeOf(requestId) >= reach.to.getTime()) return undefined
      const charge = await findArchivedCharge(open(archive), organizationId, requestId)
      return charge === undefined ? undefined : (await withNames(organizationId, [charge]))[0]
    },
  }
}

function open(archive: ArchiveStore | undefined): ArchiveStore {
  if (archive === undefined) throw new ArchiveUnavailable(new Error('CLICKHOUSE_URL is not set'))
  return archive
}

/** Charges of an organization that left Postgres: their places, and the months they are of. */
type ChargeReach = {
  readonly firstPlace: bigint
  readonly lastPlace: bigint
  readonly from: Date
  readonly to: Date
}

async function findChargeReach(client: Queryable, organizationId: string): Promise<ChargeReach | undefined> {
  const { rows } = await client.query<ChargeReach>(
    `select min(a.first_place) as "firstPlace", max(a.last_place) as "lastPlace", min(m.from_at) as "from", max(m.to_at) as "to"
       from archived_ledger a join archived_ledger_months m on m.name = a.month
      where a.organization_id = $1 having count(*) > 0`,
    [organizationId],
  )
  return rows[0]
}

/** The milliseconds at the beginning of a UUIDv7. */
function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

function mayBeCharge({ kind }: LedgerFilter): boolean {
  return kind === undefined || kind === 'charge'
}

/** Whether charges that left may be wanted: of this span, and between these places. Pure. */
function isIn(
  reach: ChargeReach | undefined,
  { from, to }: LedgerFilter,
  { after, before }: { readonly after?: bigint | undefined; readonly before?: bigint | undefined },
): reach is ChargeReach {
  if (reach === undefined) return false
  return (
    (from === null || from < reach.to) &&
    (to === null || to > reach.from) &&
    (after === undefined || after < reach.lastPlace) &&
    (before === undefined || before > reach.firstPlace)
  )
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
