import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { findFreePort } from '#standalone/port'
import { type RedisServer, startRedis } from '#standalone/redis'
import { redisLogins } from './redis-logins.ts'
import { findValkeyServer } from './valkey-server.ts'

/** A cluster on loopback: each primary with one replica. */
export type RedisCluster = {
  /** The primaries, three by default, in the order of their slots at the start; then a replica of each. */
  readonly nodes: readonly RedisServer[]
  /** Of all nodes, as a `REDIS_URL`; everything is allowed. */
  readonly url: string
  /** A command to one node. */
  ask(node: RedisServer, command: string, ...args: readonly string[]): Promise<unknown>
  /** The node that is the primary of this slot, as it sees itself; `undefined` during a failover. */
  primaryOf(slot: number): Promise<RedisServer | undefined>
  /** Resolves once every node sees every other one, and each replica has the data of its primary. */
  untilWhole(): Promise<void>
  /** Another primary without slots, replicas or users of the processes. It leaves when it is disposed. */
  addPrimary(): Promise<RedisServer>
  dispose(): Promise<void>
}

const primaryCountDefault = 3
const slotCount = 16_384
/** The shortest with which a busy machine keeps its primaries. */
const nodeTimeoutMs = 2_000
const readyWithinMs = 30_000

/** The cluster where one server is expected that is only reached by its `url`. */
export function clusterAsServer({ nodes: [first], url }: RedisCluster): RedisServer {
  if (first === undefined) throw new Error('a cluster without nodes')
  return { ...first, url }
}

/** A cluster of six Valkey servers for this test file only, which end with it. */
export async function redisClusterOfThisFile(): Promise<RedisCluster> {
  const cluster = await startRedisCluster()
  afterAll(cluster.dispose)
  return cluster
}

/** A cluster of Valkey servers, each primary with one replica. @throws Error if it cannot be started. */
export async function startRedisCluster(primaryCount = primaryCountDefault): Promise<RedisCluster> {
  const server = await findValkeyServer()
  const starts = Array.from({ length: 2 * primaryCount }, () => startClusterNode(server, redisLogins))
  const nodes = await Promise.all(starts)
  const clients = new Map(nodes.map((node) => [node, clientOf(node)]))
  const ask = async (node: RedisServer, command: string, ...args: readonly string[]) => {
    const client = clients.get(node)
    if (client === undefined) throw new Error('not a node of this cluster')
    return await client.call(command, ...args)
  }
  const cluster: RedisCluster = {
    nodes,
    url: nodes.map(({ url }) => url).join(','),
    ask,
    primaryOf: (slot) => primaryOf(nodes, ask, slot),
    async untilWhole() {
      for (const node of nodes) await until(() => isWhole(node, nodes.length, ask))
    },
    addPrimary: () => addPrimary(server, cluster),
    async dispose() {
      for (const client of clients.values()) client.disconnect()
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    },
  }
  await join(cluster, primaryCount)
  await cluster.untilWhole()
  return cluster
}

async function addPrimary(server: string, { nodes, ask }: RedisCluster): Promise<RedisServer> {
  const [first] = nodes
  if (first === undefined) throw new Error('no nodes')
  const joined = await startClusterNode(server, [])
  const client = clientOf(joined)
  const id = String(await client.call('CLUSTER', 'MYID'))
  const busPort = await configOf(first, 'cluster-port', ask)
  await client.call('CLUSTER', 'MEET', '127.0.0.1', String(first.port), busPort)
  const isKnown = async (node: RedisServer) => String(await ask(node, 'CLUSTER', 'NODES')).includes(id)
  for (const node of nodes) await until(() => isKnown(node))
  return {
    ...joined,
    async [Symbol.asyncDispose]() {
      client.disconnect()
      await joined[Symbol.asyncDispose]()
      for (const node of nodes) await ask(node, 'CLUSTER', 'FORGET', id)
    },
  }
}

async function startClusterNode(
  server: string,
  logins: readonly (typeof redisLogins)[number][],
): Promise<RedisServer> {
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-node-timeout': String(nodeTimeoutMs),
    'cluster-require-full-coverage': 'no',
    'cluster-port': String(await findFreePort()),
    'cluster-announce-ip': '127.0.0.1',
    'repl-diskless-sync-delay': '0',
  }
  return await startRedis({
    server,
    logins,
    settings: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
  })
}

function clientOf(node: RedisServer): Redis {
  const client = new Redis(node.url, { commandTimeout: 5_000, retryStrategy: () => 100 })
  client.on('error', () => undefined) // each command reports it
  return client
}

/** Makes one cluster of the nodes, and waits until each sees it whole. */
async function join({ nodes, ask }: RedisCluster, primaryCount: number): Promise<void> {
  const [first] = nodes
  if (first === undefined) throw new Error('no nodes')
  const primaries = nodes.slice(0, primaryCount)
  for (const [at, node] of nodes.entries()) await ask(node, 'CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1))
  const busPort = await configOf(first, 'cluster-port', ask)
  for (const node of nodes.slice(1))
    await ask(node, 'CLUSTER', 'MEET', '127.0.0.1', String(first.port), busPort)
  for (const [at, node] of primaries.entries()) {
    const bounds = [at, at + 1].map((n) => Math.floor((n * slotCount) / primaryCount))
    await ask(node, 'CLUSTER', 'ADDSLOTSRANGE', String(bounds[0]), String(Number(bounds[1]) - 1))
  }
  for (const [at, replica] of nodes.slice(primaryCount).entries()) {
    const primary = primaries[at]
    if (primary === undefined) throw new Error('more replicas than primaries')
    const id = String(await ask(primary, 'CLUSTER', 'MYID'))
    await until(async () => {
      await ask(replica, 'CLUSTER', 'REPLICATE', id) // it may not have met it yet
      return true
    })
  }
}

async function isWhole(node: RedisServer, count: number, ask: RedisCluster['ask']): Promise<boolean> {
  const info = String(await ask(node, 'CLUSTER', 'INFO'))
  const replication = String(await ask(node, 'INFO', 'replication'))
  const isSynced = /^role:master/m.test(replication)
    ? /^slave0:.*state=online/m.test(replication)
    : /^master_link_status:up/m.test(replication)
  return /^cluster_state:ok/m.test(info) && info.includes(`cluster_known_nodes:${count}\r`) && isSynced
}

async function configOf(node: RedisServer, name: string, ask: RedisCluster['ask']): Promise<string> {
  const [, value] = (await ask(node, 'CONFIG', 'GET', name)) as string[]
  return value ?? ''
}

/** Tries until it is true and does not fail. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  let last: unknown
  for (const endMs = performance.now() + readyWithinMs; performance.now() < endMs; await pause(50)) {
    try {
      if (await isTrue()) return
    } catch (error) {
      last = error
    }
  }
  throw new Error('the cluster was not ready in time', { cause: last })
}

async function primaryOf(
  nodes: readonly RedisServer[],
  ask: RedisCluster['ask'],
  slot: number,
): Promise<RedisServer | undefined> {
  for (const node of nodes) {
    if (node.pid() === undefined) continue
    const lines = String(await ask(node, 'CLUSTER', 'NODES').catch(() => '')).split('\n')
    const words = lines.find((line) => line.includes('myself'))?.split(' ') ?? []
    const has = words.slice(8).some((range) => {
      const [from, to = from] = range.split('-').map(Number)
      return from !== undefined && to !== undefined && slot >= from && slot <= to
    })
    if (words[2]?.includes('master') && has) return node
  }
  return undefined
}
