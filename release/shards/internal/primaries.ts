import { type ClusterNode, parseClusterNodes } from '#core/redis/cluster-view'
import type { RedisConnection, RedisServers } from '#core/redis/redis-connection'
import { type ServerVersion, serverVersionOf } from '#core/redis/server-version'
import { Rejected } from './rejected.ts'

/** A primary of the cluster, as it describes itself. */
export type Primary = {
  readonly connection: RedisConnection
  readonly node: ClusterNode
  readonly version: ServerVersion
}

/** Every primary that answers. @throws Rejected if none does. */
export async function readPrimaries(redis: RedisServers, answerMs: number): Promise<readonly Primary[]> {
  const read = await Promise.allSettled(
    redis.primaries().map((connection) => readPrimary(connection, answerMs)),
  )
  const primaries = read.flatMap((end) => (end.status === 'fulfilled' ? (end.value ?? []) : []))
  if (primaries.length === 0) throw new Rejected('No primary of the cluster answers at REDIS_URL.')
  return primaries
}

async function readPrimary(connection: RedisConnection, answerMs: number): Promise<Primary | undefined> {
  await connection.connected(answerMs)
  const { host, port } = connection.redis.options
  const text = await connection.ask((redis) => redis.cluster('NODES'))
  const node = parseClusterNodes(String(text), `${host}:${port}`).find(({ isSelf }) => isSelf)
  const version = serverVersionOf(await connection.ask((redis) => redis.info('server')))
  return node === undefined ? undefined : { connection, node, version }
}

/** The primary at this host and port. @throws Rejected if there is none. */
export function primaryAt(primaries: readonly Primary[], server: string): Primary {
  const primary = primaries.find(({ node }) => node.server === server)
  if (primary !== undefined) return primary
  const known = primaries.map(({ node }) => node.server).join(', ')
  throw new Rejected(`${server} is no primary of this cluster: its primaries are ${known}.`)
}

/** The primary that has this slot; `undefined`: none that answers. */
export function primaryOf(primaries: readonly Primary[], slot: number): Primary | undefined {
  return primaries.find(({ node }) => node.slots.some(([first, last]) => slot >= first && slot <= last))
}
