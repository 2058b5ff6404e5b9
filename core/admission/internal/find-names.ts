import type { RedisConnection, RedisServers } from '../../redis/redis-connection.ts'
import { type Shard, shardPrefix } from '../../redis/shard.ts'
import type { CountedNames } from '../counted-names.ts'

/** Names that one step of the walk looks at. */
const namesPerStep = 1_000

/** Requests, organizations, keys and members in these shards. @throws RedisUnavailable if one of their servers is. */
export async function findNames(
  redis: RedisServers,
  shards: readonly Shard[],
): Promise<ReadonlyMap<Shard, CountedNames>> {
  const byServer = Map.groupBy(shards, redis.connectionOf)
  const found = await Promise.all([...byServer].map(([connection, own]) => findNamesOn(connection, own)))
  return new Map(found.flatMap((ofServer) => [...ofServer]))
}

/** The same of one server. */
async function findNamesOn(
  connection: RedisConnection,
  shards: readonly Shard[],
): Promise<ReadonlyMap<Shard, CountedNames>> {
  const found = new Map(
    shards.map((shard) => [shardPrefix(shard), { shard, request: [], org: [], use: [], spend: [] } as Found]),
  )
  let cursor = '0'
  do {
    const [next, names] = await connection.ask((redis) =>
      redis.scan(cursor, 'MATCH', 'mg:{s*', 'COUNT', namesPerStep),
    )
    for (const name of names) note(found, name)
    cursor = next
  } while (cursor !== '0')
  return new Map([...found.values()].map((names) => [names.shard, countedOf(names)]))
}

type Kind = 'request' | 'org' | 'use' | 'spend'
type Found = { readonly shard: Shard } & Record<Kind, string[]>

const namePattern = /^(mg:\{s\d\d\}:)(request|org|use|spend):(.+)$/

function note(found: ReadonlyMap<string, Found>, name: string): void {
  const [, prefix = '', kind, id] = namePattern.exec(name) ?? []
  if (id !== undefined) found.get(prefix)?.[kind as Kind].push(id)
}

function countedOf({ request, org, use, spend }: Found): CountedNames {
  return {
    requestIds: request,
    organizationIds: org,
    keyIds: use,
    memberIds: spend,
    days: 'every',
    entriesMax: Number.MAX_SAFE_INTEGER,
  }
}
