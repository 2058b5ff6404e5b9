import { isDeepStrictEqual } from 'node:util'
import { allShards, chargesName } from '#core/redis/shard'
import type { Cluster, Slot } from './cluster.ts'

/**
 * Keeps faults within what is promised: a gateway and Redis's data are never lost together.
 *
 * Redis may lose its data only while every charge of a dead gateway is in Postgres; after that a gateway may only end
 * once it has sent again what it kept, and that is in Postgres. A killed Redis counts like a flushed one: its AOF is
 * written each second and may be behind.
 */
export type LossGates = {
  /** A gateway begins to end; call what it answers once it is dead. */
  gatewayEnds(): () => void
  /** Redis begins to lose data; call what it answers once it serves again. */
  redisLoses(): () => void
  mayRedisLose(): Promise<boolean>
  mayGatewayEnd(slot: Slot): Promise<boolean>
}

export function createLossGates({ servers }: Pick<Cluster, 'servers'>): LossGates {
  let endingCount = 0
  /** Of each shard: the last charge that a dead gateway can have. `null`: to be read. */
  let lastOfTheDead: readonly (string | undefined)[] | null | undefined
  let lostAtMs: number | undefined

  const readStreams = (end: 'first' | 'last') =>
    Promise.all(
      allShards.map(async (shard) => {
        const name = chargesName(shard)
        const [entry] = await servers
          .connectionOf(shard)
          .ask((redis) =>
            end === 'first'
              ? redis.xrange(name, '-', '+', 'COUNT', 1)
              : redis.xrevrange(name, '+', '-', 'COUNT', 1),
          )
        return entry?.[0]
      }),
    )

  return {
    gatewayEnds() {
      endingCount += 1
      return () => {
        endingCount -= 1
        lastOfTheDead = null
      }
    },
    redisLoses() {
      lostAtMs = Number.POSITIVE_INFINITY
      return () => {
        lostAtMs = performance.now()
      }
    },
    async mayRedisLose() {
      if (endingCount > 0) return false
      if (lastOfTheDead === undefined) return true
      const before = lastOfTheDead
      const last = before ?? (await readStreams('last'))
      lastOfTheDead = last
      const first = await readStreams('first')
      // Only what was posted leaves a stream, and it does so in order.
      const isPosted = last.every((id, shard) => id === undefined || isLater(first[shard], id))
      if (!isPosted || endingCount > 0 || !isDeepStrictEqual(lastOfTheDead, last)) return false
      lastOfTheDead = undefined
      return true
    },
    async mayGatewayEnd({ process }) {
      if (lostAtMs === undefined) return true
      if (process === undefined) return false
      const { ageMs } = await readKept(process.adminUrl)
      return ageMs < performance.now() - lostAtMs - askingMsMax
    },
  }
}

/** How long a gateway may take to answer how old its charges are. */
const askingMsMax = 1_000

/** How many charges a gateway keeps, and since when the oldest. @throws when it does not answer. */
export async function readKept(adminUrl: string): Promise<{ count: number; ageMs: number; open: number }> {
  const response = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(askingMsMax) })
  const text = await response.text()
  const read = (name: string) => {
    const value = new RegExp(`^model_gateway_${name} (\\S+)$`, 'm').exec(text)?.[1]
    if (value === undefined) throw new Error(`the gateway has no metric ${name}`)
    return Number(value)
  }
  return {
    count: read('buffered_charges'),
    ageMs: read('buffered_charge_age_seconds') * 1000,
    open: read('open_holds'),
  }
}

function isLater(id: string | undefined, than: string): boolean {
  if (id === undefined) return true
  const [ms = 0, sequence = 0] = id.split('-').map(Number)
  const [thanMs = 0, thanSequence = 0] = than.split('-').map(Number)
  return ms > thanMs || (ms === thanMs && sequence > thanSequence)
}
