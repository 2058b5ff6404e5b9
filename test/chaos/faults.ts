import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, Slot } from './cluster.ts'
import type { Fault } from './fault-schedule.ts'
import { freezePostgres } from './freeze-postgres.ts'
import { type LossGates, readKept } from './loss-gates.ts'
import { until } from './until.ts'

/** A span in which a gateway slept: its holds may have been swept, or lost with Redis, without its knowing. */
export type Freeze = {
  readonly slot: string
  readonly fromMs: number
  toMs: number
  /** Age of its oldest charge that was not in Postgres when it fell asleep. */
  readonly keptMs: number
}

/** A fault under way; `over`: what died runs again, what was frozen goes on. */
type Begun = { readonly over: Promise<void> }

export type Faults = {
  /** Begins a fault, or not: what it needs has another one already, or too much would be lost at once. */
  begin(fault: Fault): Promise<Begun | undefined>
  readonly freezes: readonly Freeze[]
  /** When Redis lost data, or may have. */
  readonly lossesAtMs: readonly number[]
  /** Gateways that were ended, by process id. */
  readonly endedPids: ReadonlySet<number>
}

/** Where a gateway does not say how old its charges are: longer than Postgres is ever away here. */
const keptMsMax = 60_000
/** Longest wait until Redis, which nobody troubles at that moment, has flushed. */
const flushMsMax = 10_000

type Target = { busy: boolean }

export function createFaults(cluster: Cluster, gates: LossGates): Faults {
  const { gateways, workers } = cluster
  const history: History = { freezes: [], lossesAtMs: [], endedPids: new Set() }
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
        case 'flush_redis':
          return await loseRedis(cluster, gates, history, fault)
        case 'stop_redis':
        case 'freeze_redis':
        case 'cut_redis':
          return troubleRedis(cluster, fault)
        case 'kill_postgres':
        case 'stop_postgres':
        case 'freeze_postgres':
        case 'cut_postgres':
          return troublePostgres(cluster, fault)
        case 'kill_worker':
        case 'freeze_worker':
          return troubleWorker(workers, fault)
        case 'restart_workers':
          return restartWorkers(workers)
      }
    },
  }
}

type History = { readonly freezes: Freeze[]; readonly lossesAtMs: number[]; readonly endedPids: Set<number> }

/** Claims the targets while it acts; nothing else happens to them meanwhile. */
function on(targets: readonly Target[], act: () => Promise<unknown>): Begun {
  for (const target of targets) target.busy = true
  const over = act().then(() => {
    for (const target of targets) target.busy = false
  })
  over.catch(() => undefined) // whoever waits for the end hears of it
  return { over }
}

/** The slot at this place among those that nothing happens to. */
function findFree(slots: readonly Slot[], place: number): Slot | undefined {
  const free = slots.filter(({ busy }) => !busy)
  return free[Math.floor(place * free.length)]
}

function freezeGateway(gateways: readonly Slot[], { freezes }: History, fault: Fault): Begun | undefined {
  const slot = findFree(gateways, fault.place)
  if (slot === undefined) return undefined
  return on([slot], async () => {
    const keptMs = await readKept(slot.process?.adminUrl ?? '').then(
      ({ ageMs }) => ageMs,
      () => keptMsMax,
    )
    const fromMs = performance.now()
    const freeze: Freeze = { slot: slot.name, fromMs, toMs: Number.POSITIVE_INFINITY, keptMs }
    freezes.push(freeze)
    await freezeProcess(slot, fault.lastsMs)
    freeze.toMs = performance.now()
  })
}

async function killGateway(
  gateways: readonly Slot[],
  gates: LossGates,
  history: History,
  { place, lastsMs }: Fault,
): Promise<Begun | undefined> {
  const slot = findFree(gateways, place)
  if (slot === undefined || !(await gates.mayGatewayEnd(slot))) return undefined
  return on([slot], async () => {
    await endGateway(slot, gates, history, 'kill')
    await pause(lastsMs)
    await slot.start()
  })
}

async function restartGateways(
  gateways: readonly Slot[],
  gates: LossGates,
  history: History,
): Promise<Begun | undefined> {
  if (gateways.some(({ busy }) => busy)) return undefined
  for (const slot of gateways) if (!(await gates.mayGatewayEnd(slot))) return undefined
  return on(gateways, async () => {
    for (const slot of gateways) {
      await endGateway(slot, gates, history, 'stop')
      await slot.start()
    }
  })
}

async function endGateway(
  slot: Slot,
  gates: LossGates,
  { endedPids }: History,
  how: 'kill' | 'stop',
): Promise<void> {
  const noteDeath = gates.gatewayEnds()
  if (slot.process !== undefined) endedPids.add(slot.process.pid)
  await slot.process?.[how]()
  slot.process = undefined
  noteDeath()
}

/** Kills Redis, whose file may be behind, or flushes it. */
async function loseRedis(
  { redis, connection }: Cluster,
  gates: LossGates,
  { lossesAtMs }: History,
  { kind, lastsMs }: Fault,
): Promise<Begun | undefined> {
  if (redis.busy || !(await gates.mayRedisLose())) return undefined
  return on([redis], async () => {
    const noteLoss = gates.redisLoses()
    lossesAtMs.push(performance.now())
    if (kind === 'kill_redis') {
      await redis.kill()
      await pause(lastsMs)
      await redis.start()
    } else {
      const flush = async () => (await connection.ask((client) => client.flushall())) === 'OK'
      if (!(await until(flush, { withinMs: flushMsMax }))) throw new Error('Redis could not be flushed')
    }
    noteLoss()
  })
}

/** Faults that lose nothing of Redis. */
function troubleRedis({ redis, connection }: Cluster, { kind, lastsMs }: Fault): Begun | undefined {
  if (redis.busy) return undefined
  return on([redis], async () => {
    if (kind === 'cut_redis') {
      await connection
        .ask((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))
        .catch(() => undefined)
    } else if (kind === 'freeze_redis') {
      redis.freeze()
      await pause(lastsMs)
      redis.thaw()
    } else {
      await redis.stop()
      await pause(lastsMs)
      await redis.start()
    }
  })
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

function troubleWorker(workers: readonly Slot[], { kind, lastsMs, place }: Fault): Begun | undefined {
  const slot = findFree(workers, place)
  if (slot === undefined) return undefined
  return on([slot], async () => {
    if (kind === 'freeze_worker') return await freezeProcess(slot, lastsMs)
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

async function freezeProcess({ process }: Slot, lastsMs: number): Promise<void> {
  process?.freeze()
  await pause(lastsMs)
  process?.thaw()
}
