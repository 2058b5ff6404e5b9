import { setTimeout as pause } from 'node:timers/promises'
import { signedInAdministrator } from '../support/signed-in.ts'
import { type Cluster, type Slot, startCluster } from './cluster.ts'
import { conclude } from './conclude.ts'
import { type Changes, createCustomers, startChanges } from './customers.ts'
import { scheduleFaults } from './fault-schedule.ts'
import { createFaults, type Faults } from './faults.ts'
import { measureHealing } from './heal.ts'
import { type Load, startLoad } from './load.ts'
import { createLossGates } from './loss-gates.ts'
import { startPayments } from './payments.ts'
import type { Report } from './report.ts'
import type { ChaosOptions, Storm } from './storm.ts'
import { until } from './until.ts'

const startMsMax = 60_000
/** How long a fault waits for its moment before it is left out. */
const patienceMs = 15_000
const crashEveryMs = 500

/** Starts everything, injects the faults of the seed, waits for recovery, and evaluates. */
export async function runChaos(options: ChaosOptions): Promise<Report> {
  const startedAtMs = performance.now()
  const cluster = await startCluster(options)
  const storm: Storm = { counts: {}, leftOut: 0, healSeconds: [], crashes: [] }
  const stopWatching = watchCrashes(cluster, storm)
  try {
    const customers = await createCustomers(cluster.pool)
    const load = startLoad(cluster, customers, options)
    const isServing = () => cluster.gateways.every((slot) => load.servedAtMs(slot) > 0)
    if (!(await until(isServing, { withinMs: startMsMax })))
      throw new Error(['the gateways never served', ...(await cluster.readLogTail('gateway-0'))].join('\n'))
    const changes = startChanges(cluster.pool, customers, options.seed)
    // A code that he gave in a day's time: no run outlasts the five minutes for which one counts.
    const mfaAt = new Date(Date.now() + 86_400_000)
    const administrator = await signedInAdministrator(cluster.pool, { mfaAt })
    const { web, administration, till } = cluster
    const payments = startPayments({
      web,
      administration,
      till,
      customers,
      administrator,
      seed: options.seed,
    })
    const faults = createFaults(cluster, createLossGates(cluster))
    await rage(options, { cluster, faults, load, storm })
    const calmAtMs = performance.now()
    storm.healSeconds.push(await measureHealing(load, cluster.gateways))
    await stopAll(load, changes)
    stopWatching()
    return await conclude({
      options,
      startedAtMs,
      calmAtMs,
      cluster,
      customers,
      load,
      changes,
      payments,
      faults,
      storm,
    })
  } finally {
    stopWatching()
    await cluster.dispose()
  }
}

async function stopAll(load: Load, changes: Changes): Promise<void> {
  load.stop()
  await Promise.all([load.ended, changes.stop()])
}

/** Begins one fault after the other until time or requests are over, and waits for their ends. */
async function rage(
  options: ChaosOptions,
  { cluster, faults, load, storm }: { cluster: Cluster; faults: Faults; load: Load; storm: Storm },
): Promise<void> {
  const endAtMs = performance.now() + options.secondsMax * 1000
  const isOver = () => performance.now() >= endAtMs || load.asked.length >= options.requestsMax
  const running: Promise<void>[] = []
  for (const fault of scheduleFaults(options)) {
    await until(isOver, { withinMs: fault.afterMs })
    if (isOver()) break
    const begun = await until(() => faults.begin(fault), { withinMs: patienceMs, everyMs: 100 })
    if (begun === undefined) {
      storm.leftOut += 1
      continue
    }
    options.say(`${(performance.now() / 1000).toFixed(1)} s: ${fault.kind}, ${fault.lastsMs} ms`)
    storm.counts[fault.kind] = (storm.counts[fault.kind] ?? 0) + 1
    const healed = begun.over.then(
      async () => void storm.healSeconds.push(await measureHealing(load, cluster.gateways)),
      (error) => void storm.crashes.push(`${fault.kind} did not end well: ${error}`),
    )
    running.push(healed)
  }
  await Promise.all(running)
}

/** Starts again what ended by itself, as a cluster would, and notes it: that must never happen. */
function watchCrashes(cluster: Cluster, storm: Storm): () => void {
  const restart = async (slot: Slot) => {
    slot.busy = true
    const { name, process } = slot
    const lines = await cluster.readLogTail(name)
    storm.crashes.push([`${name} ended by itself (${process?.exitCode()}):`, ...lines].join('\n  '))
    await pause(crashEveryMs)
    await slot.start()
    slot.busy = false
  }
  const timer = setInterval(() => {
    for (const slot of [
      ...cluster.gateways,
      ...cluster.workers,
      cluster.web,
      cluster.administration,
      cluster.receiver,
    ])
      if (!slot.busy && slot.process?.hasEnded() === true)
        restart(slot).catch((error) => storm.crashes.push(`${slot.name} did not start: ${error}`))
  }, crashEveryMs)
  return () => clearInterval(timer)
}
