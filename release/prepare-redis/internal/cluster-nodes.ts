import { Redis } from 'ioredis'
import { type ClusterNode, type ClusterView, parseClusterNodes, planCluster } from '#core/redis/cluster-view'
import type { RedisUrls } from '#core/redis/open-redis'
import { serverOf, urlAt } from '#core/redis/redis-connection'
import { checkedSettings, type NodeReport, problemOf } from './cluster-check.ts'

const answerMs = 5_000

/** A cluster that must not be used, with one sentence for its operator. */
export class UnfitCluster extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'UnfitCluster'
  }
}

/** Whether this server belongs to a cluster. An administrator who may only use `ACL` cannot know: then it does not. */
export async function isOfCluster(redis: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(await redis.info('cluster'))
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false
    throw error
  }
}

/**
 * Does something at each node of the cluster, replicas included, after all of them were found fit: Redis does not
 * replicate users, and a replica may be promoted.
 *
 * @throws UnfitCluster before anything is done.
 */
export async function atEachNode(
  urls: RedisUrls,
  openingDelayMs: number,
  work: (redis: Redis, server: string) => Promise<void>,
): Promise<void> {
  const [firstUrl] = urls
  const seeds = await Promise.all(urls.map((url) => viewOf(url)))
  const plan = planCluster(seeds)
  if (plan.outcome === 'rejected') throw new UnfitCluster(`${plan.why}.`)
  const nodes = seeds.flatMap(({ nodes: seen }) => (seen === 'single' ? [] : seen))
  const servers = [...new Map(nodes.map(({ id, server }) => [id, server])).values()]
  const clients = await Promise.all(servers.map((server) => connect(urlAt(firstUrl, server), server)))
  try {
    const reports = await Promise.all(clients.map(({ redis, server }) => reportOf(redis, server)))
    const problem = problemOf(ofOneView(seeds), reports, openingDelayMs)
    if (problem !== undefined) throw new UnfitCluster(problem)
    for (const { redis, server } of clients) await work(redis, server)
  } finally {
    for (const { redis } of clients) redis.disconnect()
  }
}

async function viewOf(url: string): Promise<ClusterView> {
  const server = serverOf(url)
  const { redis } = await connect(url, server)
  try {
    if (!(await isOfCluster(redis))) return { server, nodes: 'single' }
    return { server, nodes: parseClusterNodes(String(await redis.cluster('NODES')), server) }
  } finally {
    redis.disconnect()
  }
}

function ofOneView([first]: readonly ClusterView[]): readonly ClusterNode[] {
  return first === undefined || first.nodes === 'single' ? [] : first.nodes
}

async function connect(url: string, server: string) {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: answerMs,
    commandTimeout: answerMs,
    retryStrategy: () => null,
  })
  redis.on('error', () => undefined) // the command reports it
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    const why = error instanceof Error ? error.message : String(error)
    throw new UnfitCluster(
      `Cannot connect to ${server}, a node of the cluster (${why}): every process must reach each node at the address that it announces.`,
    )
  }
  return { redis, server }
}

async function reportOf(redis: Redis, server: string): Promise<NodeReport> {
  const info = await redis.info('server')
  // Managed servers reject CONFIG. The gateway's metrics show eviction and a missing file there.
  const pairs = await redis.config('GET', ...checkedSettings).catch(() => [])
  const texts = Array.isArray(pairs) ? pairs.map(String) : []
  const settings = Object.fromEntries(
    texts.flatMap((text, at) => (at % 2 === 0 ? [[text, texts[at + 1] ?? '']] : [])),
  )
  return { server, info, settings }
}
