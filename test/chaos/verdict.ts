import type { Booked } from './books.ts'
import type { Call, Usage } from './journal.ts'
import type { Asked } from './load.ts'
import { imageTokens, price } from './request-plan.ts'

/**
 * The kinds of findings:
 *
 * - `lost`: a response read to its last byte is not charged.
 * - `duplicate`: a request is charged twice.
 * - `wrong_amount`: a charge differs from what the client received or the provider counted, or exceeds the
 *   journal.
 * - `in_vain`: the client got an error, and the request is charged.
 * - `unseen`: a charge without a call of the provider.
 * - `disowned`: a client got an error about its key, and every key here is valid.
 */
export type FindingKind = 'lost' | 'duplicate' | 'wrong_amount' | 'in_vain' | 'unseen' | 'disowned'

export type Finding = {
  readonly kind: FindingKind
  readonly why: string
  readonly asked: Asked | undefined
  readonly calls: readonly Call[]
  readonly booked: readonly Booked[]
}

export type Evidence = {
  readonly asked: readonly Asked[]
  readonly callsOf: (tag: number) => readonly Call[]
  readonly booked: readonly Booked[]
  /** Gateways that were ended, by process id: since when each may have owed charges and corrections. */
  readonly endedPids: ReadonlyMap<number, number>
}

/**
 * Every breach of two guarantees. A response read to its last byte is charged exactly once, and any other
 * request at most once. An outage of the system never causes a 401.
 */
export function judge({ asked, callsOf, booked, endedPids }: Evidence): readonly Finding[] {
  const byId = new Map(booked.map((row) => [row.requestId, row]))
  const byTag = Map.groupBy(booked, ({ tag }) => tag)
  const findings: Finding[] = []
  const known = new Set<string>()
  for (const one of asked) {
    const own = one.requestId === null ? undefined : byId.get(one.requestId)
    const rows = [...new Set([...(own === undefined ? [] : [own]), ...(byTag.get(one.tag) ?? [])])]
    for (const { requestId } of rows) known.add(requestId)
    const calls = callsOf(one.tag)
    const breaches = [
      ...(isComplete(one) ? breachesOfComplete(one, calls, own) : []),
      ...breachesOfAny(one, calls, rows),
      ...(isFailure(one) && !isOwed(one, endedPids) ? breachesOfFailure(own) : []),
      ...breachesOf401(one),
    ]
    for (const [kind, why] of breaches) findings.push({ kind, why, asked: one, calls, booked: rows })
  }
  for (const row of booked)
    if (row.costNano !== 0n && !known.has(row.requestId))
      findings.push({ kind: 'unseen', why: 'nobody asked', asked: undefined, calls: [], booked: [row] })
  return findings
}

/** Answered, and read to its last byte. */
export function isComplete({ status, how }: Asked): boolean {
  return status === 200 && how === 'whole'
}

/** Got an error instead of a response. */
export function isFailure({ status, how }: Asked): boolean {
  return status !== null && status !== 200 && how === 'whole'
}

/** Whether the correction that makes up for a failure may have died with its gateway. */
function isOwed({ pid, toMs }: Asked, endedPids: Evidence['endedPids']): boolean {
  return toMs >= (endedPids.get(pid) ?? Number.POSITIVE_INFINITY)
}

type Breach = readonly [FindingKind, string]

function breachesOfComplete(one: Asked, calls: readonly Call[], row: Booked | undefined): readonly Breach[] {
  if (row === undefined) return [['lost', 'read to its last byte, and not in the ledger']]
  if (row.costNano === 0n) return [['lost', 'read to its last byte, and booked at 0']]
  const breaches: Breach[] = []
  const reported = calls.at(-1)?.usage ?? null
  const differsFrom = (amount: bigint, whose: string) => {
    if (row.costNano !== amount)
      breaches.push(['wrong_amount', `booked ${row.costNano}, ${whose} says ${amount}`])
  }
  if (one.toldNano !== null) differsFrom(one.toldNano, 'the answer')
  if (one.toldUsage !== null) differsFrom(costOf(one.toldUsage), 'its usage')
  if (reported !== null) differsFrom(costOf(reported), 'the provider')
  return breaches
}

function breachesOfAny(one: Asked, calls: readonly Call[], rows: readonly Booked[]): readonly Breach[] {
  const breaches: Breach[] = []
  const charged = rows.filter(({ costNano }) => costNano !== 0n)
  if (charged.length > 1) breaches.push(['duplicate', 'one request, charged under several ids'])
  const [row] = charged
  if (row === undefined) return breaches
  if (rows.some(({ chargeRows }) => chargeRows > 1)) breaches.push(['duplicate', 'several charge rows'])
  if (calls.length === 0) breaches.push(['unseen', 'the provider was never called'])
  const most = mostDueFor(one, calls)
  if (calls.length > 0 && row.costNano > most)
    breaches.push(['wrong_amount', `booked ${row.costNano}, the journal allows ${most}`])
  if (row.costNano < 0n) breaches.push(['wrong_amount', 'less than nothing'])
  if (row.organizationId !== one.organizationId) breaches.push(['wrong_amount', 'charged to somebody else'])
  return breaches
}

function breachesOfFailure(row: Booked | undefined): readonly Breach[] {
  return row === undefined || row.costNano === 0n ? [] : [['in_vain', 'told that it failed, and charged']]
}

/**
 * The most that a request may cost by what the provider did for it: what a call reported, or an estimate, which is
 * bounded without any estimator: a token is at least one byte of the body, or of an image, or one character of the text.
 */
function mostDueFor({ bodyBytes }: Asked, calls: readonly Call[]): bigint {
  return calls.reduce((most, { usage, characters }) => {
    const estimated = costOf({ promptTokens: bodyBytes + imageTokens, completionTokens: characters })
    const reported = usage === null ? 0n : costOf(usage)
    return [most, estimated, reported].reduce((a, b) => (a > b ? a : b))
  }, 0n)
}

function breachesOf401({ status }: Asked): readonly Breach[] {
  return status === 401 ? [['disowned', 'answered 401 with a key that Redis had been told of']] : []
}

/** What so many tokens cost, computed here and nowhere in the system. */
function costOf({ promptTokens, completionTokens }: Usage): bigint {
  return BigInt(promptTokens) * price.inputNano + BigInt(completionTokens) * price.outputNano
}
