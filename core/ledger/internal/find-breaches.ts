import type { Queryable } from '../../db/pool.ts'
import { archivedChainCheck, archivedSumsCheck } from './archived-charges.ts'
import { lookAtRequests, requestInvariants } from './booked-requests.ts'
import { type BookedRef, type ComparedSum, comparisons } from './checked-sums.ts'
import { runCheck } from './lane-checks.ts'
import type { Notes, Subject, Thing } from './notes.ts'
import {
  accountChecks,
  chainCheck,
  organizationDayCheck,
  partitionCheck,
  type RefCheck,
  refChecks,
  statementOf,
  strayRowsCheck,
} from './touched-checks.ts'
import { type InvariantName, wholeChecks } from './whole-checks.ts'

/** A known breach that is looked at again. */
export type KnownBreach = { readonly invariant: InvariantName; readonly thing: Thing }

/** The subject of a chunk. */
export type Touched = {
  readonly notes: Notes
  readonly booked: readonly BookedRef[]
  readonly known: readonly KnownBreach[]
}

export type Breach = { readonly name: InvariantName; readonly thing: string; readonly sample: string }

/** Things of this subject that this invariant may be broken in: unverified, or known to be. */
export function suspectsOf(name: InvariantName, subject: Subject, { notes, known }: Touched): Thing[] {
  return [
    ...notes.doubts.filter((doubt) => doubt.subject === subject),
    ...known.filter(({ invariant }) => invariant === name),
  ].map(({ thing }) => thing)
}

/** Checks what is behind the credits, and the accounts, of a chunk. A check without anything to look at is not sent. */
export async function findBreaches(client: Queryable, touched: Touched): Promise<Breach[]> {
  return [
    ...(await findInRefs(client, touched)),
    ...(await findInAccounts(client, touched)),
    ...(await findInChain(client, touched)),
    ...(await findInOrganizationDays(client, touched)),
    ...(await findInPartitions(client, touched)),
  ]
}

/** Rows in the default partitions. */
export function findStrayRows(client: Queryable): Promise<Breach[]> {
  return find(client, 'default_partitions_are_empty', strayRowsCheck, [])
}

/** Counts the requests that were posted, and checks them and those of rows of the ledger. */
export function countRequests(client: Queryable, touched: Touched): Promise<readonly Breach[]> {
  const charged = touched.booked
    .filter(({ kind }) => kind === 'charge' || kind === 'adjust')
    .map(({ id }) => id)
  const doubted = requestInvariants
    .flatMap((name) => suspectsOf(name, 'ref', touched))
    .map(({ id }) => String(id))
  return lookAtRequests(client, touched.notes.requestIds, [...charged, ...doubted])
}

async function findInRefs(client: Queryable, touched: Touched): Promise<Breach[]> {
  const found: Breach[] = []
  for (const [name, check] of Object.entries(refChecks) as [keyof typeof refChecks, RefCheck][]) {
    const ids = new Set([
      ...suspectsOf(name, 'ref', touched).map(({ id }) => String(id)),
      ...touched.booked.filter(({ kind }) => check.kinds.includes(kind)).map(({ id }) => id),
    ])
    if (ids.size > 0) found.push(...(await find(client, name, check.breaches, [[...ids]])))
  }
  return found
}

async function findInAccounts(client: Queryable, touched: Touched): Promise<Breach[]> {
  const spanned = touched.notes.spans.map((span) => span.organization_id)
  const booked = {
    balance_is_sum_of_ledger: spanned,
    ledger_has_no_gap: spanned,
    welcome_is_given_once: touched.booked
      .filter(({ kind }) => kind === 'welcome')
      .map(({ organizationId }) => organizationId),
  }
  const found: Breach[] = []
  for (const name of Object.keys(accountChecks) as (keyof typeof accountChecks)[]) {
    const doubted = suspectsOf(name, 'account', touched).map((thing) => String(thing.organization_id))
    const ids = new Set([...booked[name], ...doubted])
    if (ids.size > 0) found.push(...(await find(client, name, accountChecks[name], [[...ids]])))
  }
  return [...found, ...(await findInArchived(client, touched))]
}

/** Posting changes no archived sums: only accounts are looked at in which something else was changed. */
async function findInArchived(client: Queryable, touched: Touched): Promise<Breach[]> {
  const inChain = accountsOf(
    suspectsOf('ledger_has_no_gap', 'account', touched),
    suspectsOf('ledger_has_no_gap', 'row', touched),
  )
  const inSums = accountsOf(suspectsOf('balance_is_sum_of_ledger', 'account', touched))
  return [
    ...(inChain.length === 0 ? [] : await find(client, 'ledger_has_no_gap', archivedChainCheck, [inChain])),
    ...(inSums.length === 0
      ? []
      : await find(client, 'balance_is_sum_of_ledger', archivedSumsCheck, [inSums])),
  ]
}

function accountsOf(...things: readonly Thing[][]): string[] {
  return [...new Set(things.flat().map(({ organization_id }) => String(organization_id)))]
}

async function findInChain(client: Queryable, touched: Touched): Promise<Breach[]> {
  const rows = suspectsOf('ledger_has_no_gap', 'row', touched).map(({ organization_id, seq }) => ({
    organization_id,
    first_seq: seq,
    last_seq: seq,
  }))
  const spans = [...touched.notes.spans, ...rows]
  if (spans.length === 0) return []
  const inChain = await find(client, 'ledger_has_no_gap', chainCheck, [JSON.stringify(spans)])
  return [...inChain, ...(await find(client, 'ledger_has_no_gap', runCheck, [JSON.stringify(spans)]))]
}

/** Of accounts that were posted to, the last days; of suspects, all of them. */
async function findInOrganizationDays(client: Queryable, touched: Touched): Promise<Breach[]> {
  const name = 'organization_day_is_sum_of_keys'
  const suspects = suspectsOf(name, 'account', touched).map((thing) => thing.organization_id)
  const spanned = touched.notes.spans.map((span) => span.organization_id)
  const found: Breach[] = []
  for (const [ids, since] of [
    [suspects, '-infinity'],
    [spanned, lastDays()],
  ] as const)
    if (ids.length > 0)
      found.push(...(await find(client, name, organizationDayCheck, [[...new Set(ids)], since])))
  return found
}

/** Charges of earlier days are rarely posted. */
const lastDays = () => new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)

/** Sums of usage that were changed may be those of requests that left Postgres. */
async function findInPartitions(client: Queryable, touched: Touched): Promise<Breach[]> {
  const name = 'archived_partition_is_its_sums'
  const names = suspectsOf(name, 'partition', touched).map((thing) => thing.name)
  const hours = touched.notes.doubts
    .filter(({ subject }) => subject === 'usage')
    .map(({ thing }) => thing.hour)
  return names.length + hours.length === 0 ? [] : find(client, name, partitionCheck, [names, hours])
}

async function find(
  client: Queryable,
  name: InvariantName,
  breaches: string,
  values: unknown[],
): Promise<Breach[]> {
  const { rows } = await client.query<{ thing: string; sample: string }>(statementOf(breaches), values)
  return rows.map(({ thing, sample }) => ({ name, thing, sample }))
}

/** Each invariant with the things that this chunk has settled: those that are not found broken are sound. */
export function settledBy(
  touched: Touched,
  sums: readonly ComparedSum[],
): { readonly name: InvariantName; readonly thing: string }[] {
  const names = (Object.keys(wholeChecks) as InvariantName[]).filter((name) => !(name in comparisons))
  const rows = names.flatMap((name) => {
    const subject = wholeChecks[name].of?.subject
    const things =
      subject === undefined
        ? touched.known.filter(({ invariant }) => invariant === name).map(({ thing }) => thing)
        : suspectsOf(name, subject, touched)
    return things.map((thing) => ({ name, thing: JSON.stringify(thing) }))
  })
  return [...rows, ...sums.map(({ name, thing }) => ({ name, thing }))]
}
