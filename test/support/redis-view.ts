import { afterAll } from 'vitest'
import { connectRedis } from '#cabinet/redis-connection'
import { chargesName, epochName, shardOf, shardPrefix } from '#cabinet/shard'
import type { RedisServer } from '#standalone/redis'

/** What Redis knows, read past all scripts. */
export type RedisView = {
  /** The commands of Redis itself, to spoil its data. */
  readonly ask: ReturnType<typeof connectRedis>['ask']
  /** Request ids that hold money now. */
  holds(): Promise<readonly string[]>
  /** What a sweep would charge for a request, in nano-roubles; `undefined`: it holds nothing. */
  costSoFar(organizationId: string, requestId: string): Promise<bigint | undefined>
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
  const { ask } = connection
  const nameOf = (organizationId: string, rest: string) => `${shardPrefix(shardOf(organizationId))}${rest}`
  return {
    ask,
    async holds() {
      const names = await ask((client) => client.keys('mg:*:hold:*'))
      return names.map((name) => name.slice(name.lastIndexOf(':') + 1))
    },
    async costSoFar(organizationId, requestId) {
      const cost = await ask((client) => client.hget(nameOf(organizationId, `hold:${requestId}`), 'cost'))
      return cost === null ? undefined : BigInt(cost)
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
