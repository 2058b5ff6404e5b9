import { setTimeout as pause } from 'node:timers/promises'
import type { RedisConnection, RedisServers } from '#core/redis/redis-connection'
import { epochName, type Shard } from '#core/redis/shard'
import { migrateSlots, type SlotRange } from './migrate-slots.ts'
import { allMovables, type Movable, nameOf, slotOf } from './movable.ts'
import { type Primary, primaryAt, primaryOf } from './primaries.ts'
import { Rejected } from './rejected.ts'

type Say = (line: string) => void

const lookEveryMs = 20
/** A worker hands a shard over within a second; without one it stays closed. */
const openMsMax = 15_000

/**
 * Moves a shard to another primary, and waits until it serves there: the worker gives its epoch the run id of the new
 * server. Gateways send again what did not run.
 *
 * @throws Rejected before anything has moved.
 */
export async function moveShard(
  redis: RedisServers,
  primaries: readonly Primary[],
  { what, to }: { readonly what: Movable; readonly to: string },
  say: Say,
): Promise<void> {
  const target = primaryAt(primaries, to)
  const source = primaryOf(primaries, slotOf(what))
  if (source === undefined || (what !== 'common' && redis.connectionOf(what).runId() === undefined))
    throw new Rejected(
      `${nameOf(what)} has no server: its slot is not covered, or in a migration by SETSLOT. Correct that first.`,
    )
  if (source === target) return say(`${nameOf(what)} is already at ${to}.`)
  await checkUsers(source, target)
  await moveOne(redis, { what, source, target }, say)
}

/** Moves everything of one primary to another one: its shards one after the other, then all slots that hold nothing. */
export async function emptyPrimary(
  redis: RedisServers,
  primaries: readonly Primary[],
  { from, to }: { readonly from: string; readonly to: string },
  say: Say,
): Promise<void> {
  const source = primaryAt(primaries, from)
  const target = primaryAt(primaries, to)
  if (source === target) throw new Rejected('FROM and TO are the same primary.')
  await checkUsers(source, target)
  const own = allMovables.filter((what) => primaryOf(primaries, slotOf(what)) === source)
  for (const what of own) await moveOne(redis, { what, source, target }, say)
  const rest = withoutSlots(source.node.slots, new Set(own.map(slotOf)))
  if (rest.length > 0) await migrateSlots(source, target, rest)
  say(`${from} has no slots now. Remove it from the cluster: CLUSTER FORGET at every other node.`)
}

async function moveOne(
  redis: RedisServers,
  { what, source, target }: { readonly what: Movable; readonly source: Primary; readonly target: Primary },
  say: Say,
): Promise<void> {
  const slot = slotOf(what)
  await migrateSlots(source, target, [[slot, slot]])
  const isOpen = what === 'common' || (await opens(redis, what, target.connection))
  say(`${nameOf(what)} is at ${target.node.server} now.`)
  if (!isOpen)
    say(
      `${nameOf(what)} is closed until a worker has opened it there. Is a worker running, and does it reach the server?`,
    )
}

/** Whether the shard serves at this server in time. */
async function opens(redis: RedisServers, shard: Shard, at: RedisConnection): Promise<boolean> {
  for (const endMs = performance.now() + openMsMax; performance.now() < endMs; await pause(lookEveryMs)) {
    if (redis.connectionOf(shard) !== at) continue
    const [epoch, [seconds, microseconds]] = await at.ask((commands) =>
      Promise.all([commands.hmget(epochName(shard), 'run_id', 'opens_at'), commands.time()]),
    )
    if (
      epoch[0] === at.runId() &&
      Number(epoch[1]) * 1000 <= Number(seconds) * 1_000_000 + Number(microseconds)
    )
      return true
  }
  return false
}

/** Redis does not replicate users: a primary that joined may lack them, and then rejects every process. */
async function checkUsers(source: Primary, target: Primary): Promise<void> {
  const [ofSource, ofTarget] = await Promise.all([readUsers(source), readUsers(target)])
  const missing = ofSource.filter((user) => !ofTarget.includes(user))
  if (missing.length > 0)
    throw new Rejected(
      `${target.node.server} does not have the Redis users of ${source.node.server}: run prepare-redis first.`,
    )
}

async function readUsers({ connection }: Primary): Promise<readonly string[]> {
  const lines = await connection.ask((redis) => redis.call('ACL', 'LIST'))
  return [lines]
    .flat()
    .map(String)
    .filter((line) => line.startsWith('user model_gateway_'))
}

function withoutSlots(ranges: readonly SlotRange[], without: ReadonlySet<number>): readonly SlotRange[] {
  const rest: SlotRange[] = []
  for (const [first, last] of ranges)
    for (let slot = first; slot <= last; slot++) {
      if (without.has(slot)) continue
      const before = rest.at(-1)
      if (before?.[1] === slot - 1) rest[rest.length - 1] = [before[0], slot]
      else rest.push([slot, slot])
    }
  return rest
}
