import { setTimeout as pause } from 'node:timers/promises'
import { readRssMiB } from '../bench/accounting.ts'
import type { Process } from '../support/processes.ts'
import type { AbuseCase, Figures, WayRow } from './abuse-case.ts'
import { type GoodTraffic, sendGoodTraffic } from './support/good-traffic.ts'
import type { AbuseSystem } from './support/system.ts'

/** How long good traffic is measured without and with the attack, in turns. */
export type Turns = { readonly count: number; readonly quietMs: number; readonly attackMs: number }

export type CaseReport = {
  readonly name: string
  /** Of all turns the one with the median rise. */
  readonly quiet: GoodTraffic
  readonly attacked: GoodTraffic
  readonly growthMiB: number
  readonly goodRequests: number
  /** Answers other than 200 that good traffic got, by status. */
  readonly goodErrors: Readonly<Record<string, number>>
  readonly figures: Figures
  readonly ways: readonly WayRow[]
  /** What the gateway should not have done, the latency of good traffic aside. */
  readonly breaches: readonly string[]
}

/** Runs one attack during good traffic, and returns the results of both. */
export async function runCase(system: AbuseSystem, abuse: AbuseCase, turns: Turns): Promise<CaseReport> {
  const gateway = await system.gateway()
  const memory = watchMemory(gateway)
  const pairs: { quiet: GoodTraffic; attacked: GoodTraffic }[] = []
  const figures: Record<string, number> = {}
  const breaches: string[] = []
  let ways: readonly WayRow[] = []
  try {
    for (let turn = 0; turn < turns.count; turn++) {
      const { pair, result } = await runTurn(system, abuse, gateway, turns)
      pairs.push(pair)
      breaches.push(...result.breaches)
      addFigures(figures, result.figures)
    }
    const books = await system.readBooks(abuse)
    breaches.push(...(abuse.findFaults?.(books, figures) ?? []))
    ways = abuse.readWays?.(books, figures) ?? []
    addFigures(figures, abuse.readFigures?.(books) ?? {})
  } catch (error) {
    breaches.push(String(error))
  } finally {
    memory.stop()
  }
  if (gateway.hasEnded()) breaches.push('the gateway has ended')
  const { growthMiBMax } = abuse
  if (memory.growthMiB() > growthMiBMax)
    breaches.push(
      `the gateway took ${Math.round(memory.growthMiB())} MiB more, where ${growthMiBMax} are the limit`,
    )
  const rise = (pair: (typeof pairs)[number]) => pair.attacked.p99Ms / pair.quiet.p99Ms
  const median = pairs.toSorted((a, b) => rise(a) - rise(b))[Math.floor(pairs.length / 2)]
  const all = pairs.flatMap(({ quiet, attacked }) => [quiet, attacked])
  return {
    name: abuse.name,
    quiet: median?.quiet ?? noTraffic,
    attacked: median?.attacked ?? noTraffic,
    growthMiB: memory.growthMiB(),
    goodRequests: all.reduce((sum, { requests }) => sum + requests, 0),
    goodErrors: addUp(all.map(({ errors }) => errors)),
    figures,
    ways,
    breaches: [...new Set(breaches)],
  }
}

/** Of an attack that broke off: that is a breach by itself. */
const noTraffic: GoodTraffic = { medianMs: 0, p99Ms: 0, requests: 0, errors: {} }

async function runTurn(system: AbuseSystem, abuse: AbuseCase, gateway: Process, turns: Turns) {
  const origin = new URL(gateway.baseUrl).origin
  const keys = Object.fromEntries([...system.customersOf(abuse)].map(([name, { key }]) => [name, key]))
  const send = (isOver: () => boolean) => sendGoodTraffic(origin, system.good.key, system.good.model, isOver)
  const quietEndsAtMs = performance.now() + turns.quietMs
  const quiet = await send(() => performance.now() > quietEndsAtMs)
  let isOver = false
  const attacking = system
    .attack(abuse.name, {
      port: Number(new URL(gateway.baseUrl).port),
      adminPort: Number(new URL(gateway.adminUrl).port),
      keys,
      forMs: turns.attackMs,
    })
    .finally(() => {
      isOver = true
    })
  const [attacked, result] = await Promise.all([send(() => isOver), attacking])
  return { pair: { quiet, attacked }, result }
}

const lookEveryMs = 50

/** By how much the memory of a process has grown at most since. */
function watchMemory({ pid, hasEnded }: Process) {
  const before = readRssMiB(pid)
  let most = before
  let isStopped = false
  const watch = async () => {
    for (; !isStopped && !hasEnded(); await pause(lookEveryMs)) most = Math.max(most, readRssMiB(pid))
  }
  watch().catch(() => undefined) // it ended in between
  return {
    growthMiB: () => most - before,
    stop() {
      isStopped = true
    },
  }
}

/** Counts are added up; of what has a unit the most counts. */
function addFigures(all: Record<string, number>, more: Figures): void {
  for (const [name, figure] of Object.entries(more)) {
    const before = all[name] ?? 0
    all[name] = /(?:MiB|Ms)$/.test(name) ? Math.max(before, figure) : before + figure
  }
}

function addUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const each of counts)
    for (const [name, count] of Object.entries(each)) sum[name] = (sum[name] ?? 0) + count
  return sum
}

/** Most by which an attack may raise the p99 of good traffic: a fifth of it, or 5 ms. */
const riseMax = 1.2
const riseMsMax = 5

/** All breaches of a case, the rise of good traffic's latency and its errors included. */
export function findBreaches(report: CaseReport): readonly string[] {
  const { goodErrors, breaches } = report
  const [quietMs, attackedMs] = [report.quiet.p99Ms, report.attacked.p99Ms]
  const isSlower = attackedMs > Math.max(quietMs * riseMax, quietMs + riseMsMax)
  const errors = Object.entries(goodErrors).map(
    ([status, count]) => `good traffic got ${count} times ${status}`,
  )
  const slower = isSlower
    ? [`p99 of good traffic rose from ${quietMs.toFixed(1)} to ${attackedMs.toFixed(1)} ms`]
    : []
  return [...breaches, ...errors, ...slower]
}
