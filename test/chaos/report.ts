import { formatRub, jsonWithBigints, nanoRub } from '#core/ledger/money'
import type { FaultKind } from './fault-schedule.ts'
import type { Overdraft } from './overdraft.ts'
import type { Finding, FindingKind } from './verdict.ts'

/** What a run found. It passed when `violations` is empty. */
export type Report = {
  readonly seed: number
  readonly seconds: number
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  /** Faults that could not begin within their time. */
  readonly faultsLeftOut: number
  readonly changes: Readonly<Record<string, number>>
  readonly requests: number
  readonly complete: { readonly plain: number; readonly streamed: number }
  readonly aborted: number
  /** Connections that broke, and streams that ended with an error. */
  readonly broken: number
  /** Failed with an error, by code. */
  readonly refused: Readonly<Record<string, number>>
  /** Requests in the ledger's records by outcome, and those whose first amount was corrected. */
  readonly booked: Readonly<Record<string, number>>
  readonly findings: Readonly<Record<FindingKind, number>>
  /**
   * The intents of customers, and in how many cases the test payment provider and the ledger differ from
   * them.
   */
  readonly payments: Readonly<
    Record<
      'begun' | 'paid' | 'declined' | 'refunds' | 'refundsInConsole' | 'lost' | 'duplicate' | 'wrong',
      number
    >
  >
  readonly greatestOverdraft: Overdraft | undefined
  readonly left: {
    readonly holds: number
    readonly charges: number
    readonly kept: number
    readonly rejected: number
  }
  /** Seconds from the end of a fault until every gateway served again; other faults may have come between. */
  readonly healSeconds: { readonly median: number; readonly greatest: number; readonly afterLast: number }
  /** Seconds from the last fault until nothing was held, waiting or kept; `null`: not within a minute. */
  readonly restSeconds: number | null
  /** Invariants checked in SQL, and breaches of them. */
  readonly invariants: { readonly checked: number; readonly breached: number }
  /** Everything that must not be, in words. */
  readonly violations: readonly string[]
}

/** For people. */
export function formatReport(report: Report): string {
  const { complete, greatestOverdraft: overdraft, left, healSeconds: heal } = report
  const rub = (amount: bigint) => `${formatRub(nanoRub(amount))} ₽`
  const lines: readonly (readonly [string, string | number])[] = [
    ['seed', report.seed],
    ['seconds', report.seconds],
    ['faults', `${sumOf(report.faults)} (${listOf(report.faults)}), left out ${report.faultsLeftOut}`],
    ['changes', listOf(report.changes)],
    ['requests', report.requests],
    [
      'complete',
      `${complete.plain + complete.streamed} (plain ${complete.plain}, streamed ${complete.streamed})`,
    ],
    ['aborted', report.aborted],
    ['broken', report.broken],
    ['refused', `${sumOf(report.refused)} (${listOf(report.refused)})`],
    ['booked', listOf(report.booked)],
    ['findings', listOf(report.findings)],
    ['payments', listOf(report.payments)],
    [
      'greatest overdraft',
      overdraft === undefined ? 'none' : `${rub(overdraft.overdraftNano)}, bound ${rub(overdraft.boundNano)}`,
    ],
    ['left', listOf(left)],
    [
      'seconds to heal',
      `median ${heal.median}, greatest ${heal.greatest}, after the last fault ${heal.afterLast}`,
    ],
    ['seconds to rest', report.restSeconds ?? 'never'],
    ['invariants', `${report.invariants.checked} checked, ${report.invariants.breached} breached`],
    ['verdict', report.violations.length === 0 ? 'PASS' : `FAIL: ${report.violations.length} violations`],
  ]
  const width = Math.max(...lines.map(([name]) => name.length))
  const table = lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
  return [...table, ...report.violations].join('\n')
}

/** For programs: one line; amounts are decimal strings of nano-rubles. */
export function jsonOf(report: Report): string {
  return jsonWithBigints(report)
}

/** Everything known about one finding. */
export function describeFinding(finding: Finding, rows: readonly string[], lines: readonly string[]): string {
  const say = (what: string, value: unknown) =>
    `  ${what}: ${JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? String(field) : field))}`
  const ids = [...new Set([finding.asked?.requestId, ...finding.booked.map(({ requestId }) => requestId)])]
  return [
    `${finding.kind}: ${finding.why} (${ids.filter((id) => id).join(', ') || 'no request id known'})`,
    say('client', finding.asked),
    say('journal', finding.calls),
    say('booked', finding.booked),
    ...rows.map((row) => `  row: ${row}`),
    ...lines.map((line) => `  log: ${line}`),
  ].join('\n')
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}
