import type { RedisServers } from '#core/redis/redis-connection'
import { allMovables, type Movable, slotOf } from './movable.ts'
import { type Primary, primaryOf } from './primaries.ts'

/** A shard's load; what its server does not count is `undefined`. */
type Load = {
  readonly what: Movable
  readonly server: string
  readonly keys: number
  readonly cpuMicroseconds: number | undefined
}

/**
 * Lists what each primary has, the busiest shards first: by the processor time that its server has counted for their slots
 * (`cluster-slot-stats-enabled`), else by their number of keys.
 */
export async function listShards(
  redis: Pick<RedisServers, 'connectionOf'>,
  primaries: readonly Primary[],
  say: (line: string) => void,
): Promise<void> {
  const loads = (await Promise.all(allMovables.map((what) => readLoad(what, primaries)))).toSorted(byLoad)
  const cpuOfAll = sumOf(loads, cpuOf)
  for (const { node, version } of primaries) {
    const own = loads.filter(({ server }) => server === node.server)
    const slots = node.slots.reduce((sum, [first, last]) => sum + last - first + 1, 0)
    const parts = [`${slots} slots`, `${own.length} shards`, `${sumOf(own, ({ keys }) => keys)} keys`]
    say(`${node.server} (${version.name}): ${[...parts, ...shareOf(sumOf(own, cpuOf), cpuOfAll)].join(', ')}`)
    for (const load of own) say(lineOf(load, cpuOfAll))
  }
  const lost = loads.filter(({ server }) => server === '')
  if (lost.length > 0) say('without a server:')
  for (const { what } of lost) say(`  ${what}`)
  const isClosed = ({ what }: Load) => what !== 'common' && redis.connectionOf(what).runId() === undefined
  const closed = loads.filter((load) => load.server !== '' && isClosed(load))
  if (closed.length > 0)
    say(
      `closed, because their slots are in a migration by SETSLOT: ${closed.map(({ what }) => what).join(', ')}`,
    )
}

async function readLoad(what: Movable, primaries: readonly Primary[]): Promise<Load> {
  const slot = slotOf(what)
  const primary = primaryOf(primaries, slot)
  if (primary === undefined) return { what, server: '', keys: 0, cpuMicroseconds: undefined }
  const { connection, node } = primary
  const keys = Number(await connection.ask((redis) => redis.call('CLUSTER', 'COUNTKEYSINSLOT', slot)))
  return { what, server: node.server, keys, cpuMicroseconds: await readCpu(primary, slot) }
}

/** `undefined`: an older server, or one that does not count it. */
async function readCpu({ connection }: Primary, slot: number): Promise<number | undefined> {
  try {
    const reply = await connection.ask((redis) =>
      redis.call('CLUSTER', 'SLOT-STATS', 'SLOTSRANGE', slot, slot),
    )
    const words = [reply].flat(3).map(String)
    const at = words.indexOf('cpu-usec')
    return at < 0 ? undefined : Number(words[at + 1])
  } catch {
    return undefined
  }
}

function lineOf({ what, keys, cpuMicroseconds }: Load, cpuOfAll: number): string {
  const share = cpuMicroseconds === undefined ? [] : shareOf(cpuMicroseconds, cpuOfAll)
  return `  ${String(what).padStart(6)}  slot ${String(slotOf(what)).padStart(5)}  ${[`${keys} keys`, ...share].join(', ')}`
}

function shareOf(cpu: number, cpuOfAll: number): readonly string[] {
  return cpuOfAll === 0 ? [] : [`${Math.round((100 * cpu) / cpuOfAll)} % of the processor time`]
}

function byLoad(one: Load, other: Load): number {
  return cpuOf(other) - cpuOf(one) || other.keys - one.keys
}

function cpuOf({ cpuMicroseconds }: Load): number {
  return cpuMicroseconds ?? 0
}

function sumOf(loads: readonly Load[], numberOf: (load: Load) => number): number {
  return loads.reduce((sum, load) => sum + numberOf(load), 0)
}
