import { afterAll } from 'vitest'
import type { RequestRecord } from '#core/ledger/request-record'
import { connectRedis } from '#core/redis/redis-connection'
import { chargesName, epochName, shardOf, shardPrefix } from '#core/redis/shard'
import type { RedisServer } from '#standalone/redis'

/** What Redis knows, read past all scripts. */
export type RedisView = {
  /** The commands of Redis itself, to spoil its data. */
  readonly ask: ReturnType<typeof connectRedis>['ask']
  readonly kind: ReturnType<typeof connectRedis>['kind']
  /** What a sweep would charge for each request of an organization, by its last renewal. */
  sweepable(organizationId: string): Promise<readonly { costNano: bigint; record: RequestRecord }[]>
  /** An organization's money as the next admission would see it. */
  money(organizationId: string): Promise<{ posted: bigint; pending: bigint; held: bigint }>
  /** Charges of its shard that Postgres has not got yet. */
  waitingCount(organizationId: string): Promise<number>
  /** Nonce of its shard's epoch; `undefined`: it has none. */
  epochNonce(organizationId: string): Promise<string | undefined>
}

/** A view of `redis` for this file; it finds its way back when that was restarted. */
export function viewOfThisFile(redis: RedisServer): RedisView {
  const connection = connectRedis(redis.url, { name: 'test-view', timeoutMs: 5_000 })
  afterAll(() => connection.close())
  const { ask, kind } = connection
  const nameOf = (organizationId: string, rest: string) => `${shardPrefix(shardOf(organizationId))}${rest}`
  return {
    ask,
    kind,
    async sweepable(organizationId) {
      const names = await ask((client) => client.keys(nameOf(organizationId, 'request:*')))
      const holds = await Promise.all(names.map((name) => ask((client) => client.get(name))))
      return holds
        .map((text) => text?.split(' ') ?? []) // `read_request` in `shard.lua`
        .filter(([state, organization]) => state === 'held' && organization === organizationId)
        .map((fields) => ({
          costNano: BigInt(fields[8] ?? 0),
          record: JSON.parse(fields.slice(9).join(' ')),
        }))
    },
    async money(organizationId) {
      const name = nameOf(organizationId, `org:${organizationId}`)
      const fields = await ask((client) => client.hmget(name, 'posted', 'pending', 'held'))
      const [posted = 0n, pending = 0n, held = 0n] = fields.map((field) => BigInt(field ?? 0))
      return { posted, pending, held }
    },
    waitingCount: (organizationId) => ask((client) => client.xlen(chargesName(shardOf(organizationId)))),
    async epochNonce(organizationId) {
      return (await ask((client) => client.hget(epochName(shardOf(organizationId)), 'nonce'))) ?? undefined
    },
  }
}
