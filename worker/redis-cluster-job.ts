import { Gauge, type Registry } from 'prom-client'
import type { Job } from '#core/process/job'
import { clusterProblems, readClusterProblems } from '#core/redis/cluster-problems'
import type { RedisServers } from '#core/redis/redis-connection'

const everyMs = 5_000

/** Shows what is wrong with a Redis cluster, also of primaries that have joined and have no shard yet. */
export function redisClusterJob({
  redis,
  registry,
}: {
  readonly redis: RedisServers
  readonly registry: Registry
}): Job {
  const count = new Gauge({
    name: 'model_gateway_redis_cluster_problems',
    help: 'Of a Redis cluster: slots without a primary (uncovered_slots), and primaries without a replica that has their data, that do not answer the worker, or of an unsupported version. 0 with one server.',
    labelNames: ['problem'],
    registers: [registry],
  })
  return {
    name: 'redis_cluster',
    everyMs,
    mayFail: true,
    async run() {
      const found = await readClusterProblems(redis)
      for (const problem of clusterProblems) count.set({ problem }, found[problem])
      return 'idle'
    },
  }
}
