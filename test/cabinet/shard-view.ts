import { listedMs } from '#core/admission/listed-refusals'
import type { OpenShard } from '../support/shards.ts'

/** What a shard returns and contains, without what differs between two shards to which the same was done. */
export type ShardView = {
  /** An answer of the gateway's or the worker's side. */
  plain(answer: unknown): unknown
  /** Everything in the shard at an instant but copies of Postgres and rejections that are listed no more. */
  read(nowMs: number): Promise<Readonly<Record<string, unknown>>>
}

/** Names by which two shards differ: those of this one become words, stream ids become numbers in order. */
export function createShardView(shard: OpenShard): ShardView {
  const { redis } = shard.connection
  const streamIds: string[] = []
  const numberOf = (id: string) => {
    if (!streamIds.includes(id)) streamIds.push(id)
    return `entry ${streamIds.indexOf(id)}`
  }
  const plainText = (text: string) =>
    text
      .replaceAll(shard.organizationId, 'organization')
      .replaceAll(shard.keyId, 'key')
      .replaceAll(/\b\d{13}-\d+\b/g, numberOf)
      .replaceAll(/\b(1\d{9})\d{3}\b/g, '$1 s')

  function plain(answer: unknown): unknown {
    return JSON.parse(plainText(JSON.stringify(answer, plainValue)))
  }

  async function readName(name: string, nowMs: number): Promise<unknown> {
    switch (await redis.type(name)) {
      case 'hash':
        return textOfHash(await redis.hgetallBuffer(name))
      case 'stream':
        return (await redis.xrange(name, '-', '+')).map(([id, fields]) => [id, ...fields])
      case 'zset':
        return scoresOf(await redis.zrange(name, '0', '-1', 'WITHSCORES'))
      case 'list':
        return (await redis.lrange(name, 0, -1)).filter((entry) => atOf(entry) > nowMs - listedMs + 1_000)
      default:
        return await redis.get(name)
    }
  }

  return {
    plain,
    async read(nowMs) {
      const names = (await redis.keys(shard.nameOf('*'))).toSorted()
      const isCopy = /:(?:cred:.*|key:.*|shard)$/
      const entries = names
        .filter((name) => !isCopy.test(name))
        .map(async (name) => [name.slice(shard.nameOf('').length), await readName(name, nowMs)] as const)
      const content = Object.fromEntries(await Promise.all(entries))
      const { epoch, ...rest } = content
      const posted = epoch as { readonly posted_through?: string }
      return plain({ ...rest, posted: posted.posted_through ?? '0-0' }) as Record<string, unknown>
    },
  }
}

const atOf = (entry: string) => Number(/"at":(\d+)/.exec(entry)?.[1])

/** By member: those of one second come in any order. */
function scoresOf(pairs: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(
    pairs.flatMap((member, at) => (at % 2 === 0 ? [[member, pairs[at + 1]] as const] : [])),
  )
}

/** Buckets are packed. */
function textOfHash(fields: Record<string, Buffer>): Record<string, string> {
  const entries = Object.entries(fields).map(([field, value]) => {
    const isPacked = /^(?:sum|\d+)$/.test(field)
    return [field, value.toString(isPacked ? 'hex' : 'utf8')] as const
  })
  return Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b)))
}

/** Instants lose what is less than a second; times that count from now are up to a second shorter. */
function plainValue(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (name === 'resetMs' || name === 'retryAfterMs') return Math.ceil(Number(value) / 1_000)
  if (typeof value === 'number' && value >= 1e12) return Math.floor(value / 1_000)
  if (name === 'nonce' || name === 'shard') return undefined
  return value
}
