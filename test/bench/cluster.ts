import { createAdmission } from '#core/admission/admission'
import { openRedis } from '#core/redis/open-redis'
import { allShards } from '#core/redis/shard'
import { type RedisServer, startRedis } from '#standalone/redis'
import { recordOf, uuidV7 } from '../support/customer.ts'
import { clusterAsServer, startRedisCluster } from '../support/redis-cluster.ts'
import { emptyRecord, fixedCandidate, openShard } from '../support/shards.ts'
import { findValkeyServer } from '../support/valkey-server.ts'
import { readCpuMs } from './accounting.ts'
import { quantile } from './load.ts'

/**
 * `node test/bench/cluster.ts`: processor time per request, admitted and settled in one of 64 shards, of the busiest primary
 * and of the process that calls it: one server, then clusters of 3 and 6 primaries, by turns.
 */
const rounds = 12
const requestsPerShard = 20

process.setMaxListeners(50) // each server ends with this process

const record = recordOf({ tokens: { input: 180, output: 160 } })
const say = (line: string) => void process.stdout.write(`${line}\n`)

type Place = {
  readonly name: string
  readonly primaries: readonly RedisServer[]
  /** Serves one round. */
  readonly serve: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Keys in all shards, called by one process through its connections to all servers. */
async function openPlace(
  name: string,
  server: RedisServer,
  primaries: readonly RedisServer[],
  end: () => Promise<void>,
): Promise<Place> {
  const [first = '', ...others] = server.url.split(',')
  const servers = openRedis([first, ...others], { name: 'bench', timeoutMs: 2_000 })
  await servers.connected(10_000)
  const admission = createAdmission(servers)
  const keys: {
    readonly shard: (typeof allShards)[number]
    readonly secretHash: Parameters<typeof admission.inspect>[1]
  }[] = []
  for (const _ of allShards) {
    const opened = await openShard(server, {
      key: { rpm: 100_000_000, tpm: 2_000_000_000 },
      balanceNano: 10n ** 18n,
    })
    keys.push({ shard: opened.shard, secretHash: opened.secretHash })
    opened.close()
  }
  return {
    name,
    primaries,
    async serve() {
      await Promise.all(
        keys.map(async (key) => {
          for (let n = 0; n < requestsPerShard; n++) {
            const answer = await admission.admit({
              requestId: uuidV7(),
              ...key,
              candidates: [fixedCandidate({ model: 'bench/plain', holdNano: 8_900_000n, tokens: 432 })],
              record: emptyRecord,
              timeoutMs: 600_000,
            })
            if (answer.outcome === 'refused') throw new Error(`refused: ${answer.reason}`)
            const { hold } = answer
            await admission.settle({ hold, chargeKind: 'settled', costNano: 6_600_000n, tokens: 340, record })
          }
        }),
      )
    },
    async stop() {
      servers.close()
      await end()
    },
  }
}

async function openOne(): Promise<Place> {
  const redis = await startRedis({ server: await findValkeyServer() })
  return await openPlace('1 server', redis, [redis], async () => redis[Symbol.asyncDispose]())
}

async function openCluster(primaryCount: number): Promise<Place> {
  const cluster = await startRedisCluster(primaryCount)
  const primaries = cluster.nodes.slice(0, primaryCount)
  return await openPlace(`${primaryCount} primaries`, clusterAsServer(cluster), primaries, cluster.dispose)
}

/** µs per request. */
async function measure({ primaries, serve }: Place) {
  const cpuMs = () => primaries.map((server) => readCpuMs(server.pid() ?? 0))
  const [before, own] = [cpuMs(), process.cpuUsage()]
  await serve()
  const { user, system } = process.cpuUsage(own)
  const count = allShards.length * requestsPerShard
  const spentMs = cpuMs().map((ms, at) => ms - (before[at] ?? 0))
  return { busiestUs: (1_000 * Math.max(...spentMs)) / count, clientUs: (user + system) / count }
}

const places = [await openOne(), await openCluster(3), await openCluster(6)]
const found = places.map(() => ({ busiest: [] as number[], client: [] as number[] }))
for (const place of places) await place.serve() // loads the library
for (let round = 0; round < rounds; round++)
  for (const [at, place] of places.entries()) {
    const { busiestUs, clientUs } = await measure(place)
    found[at]?.busiest.push(busiestUs)
    found[at]?.client.push(clientUs)
  }
const quarter = (values: readonly number[] = []) => quantile(values, 0.25)
for (const [at, { name }] of places.entries()) {
  const [busiest, client] = [quarter(found[at]?.busiest), quarter(found[at]?.client)]
  const share = (us: number, of: readonly number[] = []) => (us / quarter(of)).toFixed(2)
  say(
    `${name.padEnd(12)} busiest primary ${busiest.toFixed(0)} µs (${share(busiest, found[0]?.busiest)} ×), client ${client.toFixed(0)} µs (${share(client, found[0]?.client)} ×)`,
  )
}
for (const place of places) await place.stop()
