import { setTimeout as pause } from 'node:timers/promises'
import { type Begun, type FaultHistory, findFree, freezeProcess, on } from './begun.ts'
import type { Cluster, Slot } from './cluster.ts'
import type { Fault } from './fault-schedule.ts'
import { freezePostgres } from './freeze-postgres.ts'
import { freezeGateway, killGateway, restartGateways } from './gateway-faults.ts'
import type { LossGates } from './loss-gates.ts'
import { flushUnposted, loseRedis, troubleRedis } from './redis-faults.ts'

export type Faults = FaultHistory & {
  /** Begins a fault, or not: what it needs has another one already, or too much would be lost at once. */
  begin(fault: Fault): Promise<Begun | undefined>
}

export function createFaults(cluster: Cluster, gates: LossGates): Faults {
  const { gateways, workers } = cluster
  const history: FaultHistory = { freezes: [], lossesAtMs: [], endedPids: new Map() }
  return {
    ...history,
    async begin(fault) {
      switch (fault.kind) {
        case 'kill_gateway':
          return await killGateway(gateways, gates, history, fault)
        case 'freeze_gateway':
          return freezeGateway(gateways, history, fault)
        case 'restart_gateways':
          return await restartGateways(gateways, gates, history)
        case 'kill_redis':
        case 'tear_redis':
        case 'flush_redis':
        case 'flush_twice':
          return await loseRedis(cluster, gates, history, fault)
        case 'flush_unposted':
          return await flushUnposted(cluster, gates, history, fault)
        case 'stop_redis':
        case 'freeze_redis':
        case 'cut_redis':
          return await troubleRedis(cluster, gates, history, fault)
        case 'kill_postgres':
        case 'stop_postgres':
        case 'freeze_postgres':
        case 'cut_postgres':
          return troublePostgres(cluster, fault)
        case 'kill_worker':
        case 'freeze_worker':
          return troubleProcess(workers, fault)
        case 'restart_workers':
          return restartWorkers(workers)
        case 'kill_web':
          return troubleProcess([cluster.web, cluster.administration], fault)
        case 'kill_receiver':
        case 'freeze_receiver':
          return troubleProcess([cluster.receiver], fault)
        case 'trouble_till':
          return troubleTill(cluster, fault)
      }
    },
  }
}

function troublePostgres({ postgres, pool }: Cluster, { kind, lastsMs }: Fault): Begun | undefined {
  if (postgres.busy) return undefined
  return on([postgres], async () => {
    if (kind === 'cut_postgres') {
      const ours = "application_name like 'model-gateway%'"
      await pool
        .query(`select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`)
        .catch(() => undefined)
    } else if (kind === 'freeze_postgres') {
      await freezePostgres(postgres.pid(), lastsMs)
    } else {
      await (kind === 'kill_postgres' ? postgres.kill() : postgres.stop())
      await pause(lastsMs)
      await postgres.start()
    }
  })
}

function troubleTill({ till }: Cluster, { lastsMs, place }: Fault): Begun | undefined {
  if (till.busy) return undefined
  return on([till], async () => {
    await till.misbehave(place)
    await pause(lastsMs)
    await till.behave()
  })
}

function troubleProcess(slots: readonly Slot[], { kind, lastsMs, place }: Fault): Begun | undefined {
  const slot = findFree(slots, place)
  if (slot === undefined) return undefined
  return on([slot], async () => {
    if (kind.startsWith('freeze_')) return await freezeProcess(slot, lastsMs)
    await slot.process?.kill()
    await pause(lastsMs)
    await slot.start()
  })
}

function restartWorkers(workers: readonly Slot[]): Begun | undefined {
  if (workers.some(({ busy }) => busy)) return undefined
  return on(workers, async () => {
    for (const slot of workers) {
      await slot.process?.stop()
      await slot.start()
    }
  })
}
