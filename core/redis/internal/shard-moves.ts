import type { RedisConnection } from '../redis-connection.ts'
import { allShards, type Shard } from '../shard.ts'

/** How long a shard may be closed while its server hands it over. */
const moveMsMax = 1_000
/** How long its former server may not know it yet. */
const yieldMsMax = 100
/** After a longer time without a look, the server between two others may have been missed: a failover takes longer. */
const lookGapMsMax = 1_000

type Server = Pick<RedisConnection, 'runId' | 'circuitIsOpen'>
type HasYielded = (from: Server) => boolean

type Move = {
  readonly from: Server
  /** The run that had the shard when this was seen; `undefined`: unknown, or a look was missed. */
  readonly toRunId: string | undefined
  readonly atMs: number
}

/** The moves that this process saw: of shards, and servers that no longer have what they were asked for. */
export type ShardMoves = {
  /** Called after each look. Answers whether any shard has another server. */
  note(before: readonly Server[], after: readonly Server[]): boolean
  /** This server replied that it has handed a slot over. */
  noteServer(server: Server): void
  isMoving(shard: Shard, owner: Server, hasYielded: HasYielded): boolean
  /**
   * Run id of the server that this process saw right before the present run of `owner`, if it has yielded the shard. No
   * other epoch is whole: one of an earlier server is also what a replica of `owner` has, or `owner` itself after a
   * restart, if they lost the end of its data.
   */
  yieldedBy(shard: Shard, owner: Server, hasYielded: HasYielded): string | undefined
}

/** @param now `performance.now`. */
export function createShardMoves(now: () => number): ShardMoves {
  const moves = new Map<Shard, Move>()
  const serverAtMs = new WeakMap<Server, number>()
  let notedAtMs = Number.NEGATIVE_INFINITY
  const ageOf = (atMs = Number.NEGATIVE_INFINITY) => now() - atMs
  return {
    note(before, after) {
      const hasMissed = ageOf(notedAtMs) >= lookGapMsMax
      notedAtMs = now()
      let hasMoved = false
      for (const shard of allShards) {
        const [from, to] = [before[shard], after[shard]]
        if (from === undefined || to === undefined || from === to) continue
        moves.set(shard, { from, toRunId: hasMissed ? undefined : to.runId(), atMs: notedAtMs })
        hasMoved = true
      }
      return hasMoved
    },
    noteServer: (server) => void serverAtMs.set(server, now()),
    isMoving(shard, owner, hasYielded) {
      if (ageOf(serverAtMs.get(owner)) < moveMsMax) return true
      const move = moves.get(shard)
      if (move === undefined || ageOf(move.atMs) >= moveMsMax) return false
      return hasYielded(move.from) || (ageOf(move.atMs) < yieldMsMax && !move.from.circuitIsOpen())
    },
    yieldedBy(shard, owner, hasYielded) {
      const move = moves.get(shard)
      if (move?.toRunId === undefined || move.toRunId !== owner.runId()) return undefined
      return hasYielded(move.from) ? move.from.runId() : undefined
    },
  }
}
