import { checkInvariants } from '#core/ledger/invariants'
import {
  type Booked,
  countOpen,
  countRejected,
  findDifferences,
  readBooked,
  readCredits,
  readGreatestSpending,
  readLowestBalances,
  readRows,
} from './books.ts'
import type { Cluster } from './cluster.ts'
import { budgetNano, type Changes, type ChaosCustomer } from './customers.ts'
import type { Faults } from './faults.ts'
import type { Load } from './load.ts'
import { readKept } from './loss-gates.ts'
import { overdraftsOf } from './overdraft.ts'
import { countWaiting, readPaymentBooks, tillSideOf } from './payment-books.ts'
import { judgePayments, type PaymentFinding } from './payment-verdict.ts'
import { makeAllDue, type Payments } from './payments.ts'
import { describeFinding, type Report } from './report.ts'
import type { ChaosOptions, Storm } from './storm.ts'
import { until } from './until.ts'
import { type Finding, isComplete, isFailure, judge } from './verdict.ts'

/** Nothing may be held, waiting or kept so long after the last fault. */
const restMsMax = 60_000
/** Longer than any payer waits. */
const payingMsMax = 200_000
const lookEveryMs = 500
/** Findings reported in full; for more, only the kind and the ids. */
const describedMax = 20

type Run = {
  readonly options: ChaosOptions
  readonly startedAtMs: number
  /** When the last fault had ended. */
  readonly calmAtMs: number
  readonly cluster: Cluster
  readonly customers: readonly ChaosCustomer[]
  readonly load: Load
  readonly changes: Changes
  readonly payments: Payments
  readonly faults: Faults
  readonly storm: Storm
}

/** Waits until everything is at rest, and judges what was asked, seen and posted. */
export async function conclude(run: Run): Promise<Report> {
  const { options, cluster, load, storm, faults } = run
  const { pool, servers, provider } = cluster
  const [rest, paid] = await Promise.all([waitForRest(run), waitForPayments(run)])
  const { asked } = load
  const booked = await readBooked(pool)
  const findings = judge({ asked, callsOf: provider.callsOf, booked, endedPids: faults.endedPids })
  const overdrafts = overdraftsOf({ ...faults, asked, lowestBalances: await readLowestBalancesOf(run) })
  const overruns = overdraftsOf({ ...faults, asked, lowestBalances: await readLeastBudgetsOf(run) })
  const invariants = await checkInvariants(pool)
  const breached = invariants.filter(({ breachCount }) => breachCount > 0)
  const healed = storm.healSeconds.filter((seconds) => seconds !== undefined).toSorted((a, b) => a - b)
  const violations = [
    ...storm.crashes,
    ...(storm.healSeconds.at(-1) === undefined ? ['not every gateway served again within a minute'] : []),
    ...(rest.seconds === null ? [`not at rest after a minute: ${JSON.stringify(rest.left)}`] : []),
    ...(rest.left.rejected > 0 ? [`${rest.left.rejected} charges were rejected by Postgres`] : []),
    ...breached.map(({ name, breachCount, sample }) => `${name}: ${breachCount} breaches, as ${sample}`),
    ...(await findDifferences(pool, servers)),
    ...(await findWrongCredits(run)),
    ...run.payments.failures,
    ...paid.findings.map(({ kind, why }) => `${kind}: ${why}`),
    ...(paid.isAtRest ? [] : [`payments wait after a minute: ${JSON.stringify(paid.waiting)}`]),
    ...(paid.waiting.differences > 0 ? [`${paid.waiting.differences} payment differences`] : []),
    ...overdrafts
      .filter(({ overdraftNano, boundNano }) => overdraftNano > boundNano)
      .map(
        ({ organizationId, ...amounts }) =>
          `${organizationId}: overdraft ${amounts.overdraftNano} beyond ${amounts.boundNano}`,
      ),
    ...overruns
      .filter(({ overdraftNano, boundNano }) => overdraftNano > boundNano)
      .map(
        ({ organizationId, ...amounts }) =>
          `${organizationId}: a budget overrun by ${amounts.overdraftNano}, beyond ${amounts.boundNano}`,
      ),
    ...(await describeAll(cluster, findings)),
  ]
  return {
    seed: options.seed,
    seconds: Math.round((performance.now() - run.startedAtMs) / 1000),
    faults: storm.counts,
    faultsLeftOut: storm.leftOut,
    changes: run.changes.counts,
    ...countAsked(load),
    booked: countBooked(booked),
    findings: countFindings(findings),
    payments: countPayments(run, paid.findings),
    greatestOverdraft: overdrafts.toSorted((a, b) => (a.overdraftNano < b.overdraftNano ? 1 : -1))[0],
    left: rest.left,
    healSeconds: {
      median: healed[Math.floor(healed.length / 2)] ?? 0,
      greatest: healed.at(-1) ?? 0,
      afterLast: storm.healSeconds.at(-1) ?? Number.POSITIVE_INFINITY,
    },
    restSeconds: rest.seconds,
    invariants: { checked: invariants.length, breached: breached.length },
    violations,
  }
}

async function waitForRest({
  cluster,
  calmAtMs,
}: Run): Promise<{ seconds: number | null; left: Report['left'] }> {
  let left: Report['left'] = { holds: -1, charges: -1, kept: -1, rejected: -1 }
  const isAtRest = async () => {
    const kept = await Promise.all(
      cluster.gateways.map(async ({ process }) => readKept(process?.adminUrl ?? '')),
    )
    left = {
      ...(await countOpen(cluster.servers)),
      kept: kept.reduce((sum, { count, open }) => sum + count + open, 0),
      rejected: await countRejected(cluster.pool),
    }
    return left.holds === 0 && left.charges === 0 && left.kept === 0
  }
  const withinMs = Math.max(0, calmAtMs + restMsMax - performance.now())
  const isResting = await until(isAtRest, { withinMs, everyMs: 200 })
  return { seconds: isResting ? Math.round((performance.now() - calmAtMs) / 100) / 10 : null, left }
}

/** Waits until every intent is carried out and in the ledger. Whatever would wait for minutes is made due. */
async function waitForPayments({ cluster, payments }: Run) {
  const { pool, till } = cluster
  let isPaying = true
  const stopped = payments.stop().then(() => {
    isPaying = false
  })
  const isOver = async () => {
    await makeAllDue(pool, till)
    return !isPaying
  }
  await until(isOver, { withinMs: payingMsMax, everyMs: lookEveryMs })
  await stopped
  let findings: readonly PaymentFinding[] = []
  let waiting = { notifications: -1, calls: -1, differences: 0 }
  const isAtRest = async () => {
    await makeAllDue(pool, till)
    findings = judgePayments(payments.intents, tillSideOf(await till.journal()), await readPaymentBooks(pool))
    waiting = await countWaiting(pool)
    return findings.length === 0 && waiting.notifications === 0 && waiting.calls === 0
  }
  const isResting = await until(isAtRest, { withinMs: restMsMax, everyMs: lookEveryMs })
  return { findings, waiting, isAtRest: isResting === true }
}

function countPayments(
  { payments: { intents } }: Run,
  findings: readonly PaymentFinding[],
): Report['payments'] {
  const of = (wanted: PaymentFinding['kind']) => findings.filter(({ kind }) => kind === wanted).length
  const back = intents.flatMap(({ refunds }) => refunds)
  return {
    begun: intents.length,
    paid: intents.filter(({ deed }) => deed === 'paid').length,
    declined: intents.filter(({ deed }) => deed === 'declined').length,
    refunds: back.length,
    refundsInConsole: back.filter(({ id }) => id === null).length,
    lost: of('lost'),
    duplicate: of('duplicate'),
    wrong: of('wrong_amount'),
  }
}

/** A customer who refunds spent money is below zero, which is no error. */
async function readLowestBalancesOf({
  cluster,
  payments: { intents },
}: Run): Promise<ReadonlyMap<string, bigint>> {
  const refunded = new Set(
    intents.filter(({ refunds }) => refunds.length > 0).map((intent) => intent.organizationId),
  )
  const lowest = await readLowestBalances(cluster.pool)
  return new Map([...lowest].filter(([organizationId]) => !refunded.has(organizationId)))
}

/** The least that was left of the budget of each organization that has one. */
async function readLeastBudgetsOf({ cluster, customers }: Run): Promise<ReadonlyMap<string, bigint>> {
  const spent = {
    weekly: await readGreatestSpending(cluster.pool, 'week'),
    monthly: await readGreatestSpending(cluster.pool, 'month'),
  }
  return new Map(
    customers.flatMap(({ kind, organizationId }) =>
      kind === 'weekly' || kind === 'monthly'
        ? [[organizationId, budgetNano - (spent[kind].get(organizationId) ?? 0n)] as const]
        : [],
    ),
  )
}

async function findWrongCredits({ cluster, customers }: Run): Promise<readonly string[]> {
  const credits = await readCredits(cluster.pool)
  return customers.flatMap(({ organizationId, creditedNano }) => {
    const booked = credits.get(organizationId) ?? 0n
    return booked === creditedNano
      ? []
      : [`${organizationId}: topped up by ${creditedNano}, booked ${booked}`]
  })
}

async function describeAll(cluster: Cluster, findings: readonly Finding[]): Promise<readonly string[]> {
  const told = await Promise.all(
    findings.slice(0, describedMax).map(async (finding) => {
      const ids = [finding.asked?.requestId, ...finding.booked.map(({ requestId }) => requestId)]
      const known = [...new Set(ids.filter((id) => typeof id === 'string'))]
      return describeFinding(finding, await readRows(cluster.pool, known), await cluster.findLogLines(known))
    }),
  )
  return [
    ...told,
    ...findings.slice(describedMax).map(({ kind, why, asked }) => `${kind}: ${why} (${asked?.requestId})`),
  ]
}

function countAsked({
  asked,
}: Load): Pick<Report, 'requests' | 'complete' | 'aborted' | 'broken' | 'refused'> {
  const complete = asked.filter(isComplete)
  const streamed = complete.filter(({ stream }) => stream).length
  const refused: Record<string, number> = {}
  for (const { code } of asked.filter(isFailure))
    refused[code ?? 'unknown'] = (refused[code ?? 'unknown'] ?? 0) + 1
  return {
    requests: asked.length,
    complete: { plain: complete.length - streamed, streamed },
    aborted: asked.filter(({ how }) => how === 'left').length,
    broken: asked.filter(({ how }) => how === 'cut' || how === 'told_off').length,
    refused,
  }
}

function countBooked(booked: readonly Booked[]): Report['booked'] {
  const counts: Record<string, number> = {}
  for (const { outcome } of booked) counts[outcome] = (counts[outcome] ?? 0) + 1
  return { ...counts, corrected: booked.filter(({ adjustRows }) => adjustRows > 0).length }
}

function countFindings(findings: readonly Finding[]): Report['findings'] {
  const counts = { lost: 0, duplicate: 0, wrong_amount: 0, in_vain: 0, unseen: 0, disowned: 0 }
  for (const { kind } of findings) counts[kind] += 1
  return counts
}
