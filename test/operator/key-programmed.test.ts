import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { epochName, shardOf, shardPrefix } from '#core/redis/shard'
import { conditionsOf } from '#operator/runtime/conditions'
import { keyClusterOfThisFile } from '../support/api-key-cluster.ts'
import { freshName, statusOf } from '../support/live-keys.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { viewOfThisFile } from '../support/redis-view.ts'

// An installation in its first seconds: Redis is filled, and its shards are closed for one renewal of every gateway.
const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, gatewayStatus } = await keyClusterOfThisFile()
const view = viewOfThisFile(stack.redis)
const waiting = { timeout: 20_000, interval: 20 }
/** Longer than a busy machine needs to fill Redis. */
const slow = { RENEW_EVERY_MS: '20000', LEASE_MS: '80000' }

test('an ApiKey is not Ready before its shard is open; a call right after that is answered', async () => {
  const namespace = await cluster.createNamespace()
  await operators.start({ cluster, databaseUrl: stack.database.url, namespace })
  const gateway = await stack.startGateway(slow)
  const team = await createTeam()
  const name = freshName()
  await team.apply(name)
  const keyId = await vi.waitFor(async () => z.string().parse(statusOf(await team.find(name)).keyID), waiting)
  const readReason = async () => {
    const object = await team.find(name)
    return object && conditionsOf(object).find(({ type }) => type === 'Ready')?.reason
  }
  await vi.waitFor(async () => z.string().parse(await readReason()), waiting)
  await stack.startWorker(slow)

  const shard = shardOf(team.organizationId)
  const isCopied = () => view.ask((redis) => redis.exists(`${shardPrefix(shard)}key:${keyId}`))
  await vi.waitFor(async () => expect(await isCopied()).toBe(1), waiting)
  const opensAt = await vi.waitFor(
    async () => Number(z.string().parse(await view.ask((redis) => redis.hget(epochName(shard), 'opens_at')))),
    waiting,
  )
  const clockOfRedis = async () => {
    const [seconds, microseconds] = await view.ask((redis) => redis.time())
    return Number(seconds) * 1000 + Number(microseconds) / 1000
  }
  const reasons: (string | undefined)[] = []
  while ((await clockOfRedis()) < opensAt) {
    const reason = await readReason()
    if ((await clockOfRedis()) < opensAt) reasons.push(reason)
  }
  expect(reasons).not.toContain('Programmed')
  expect(reasons.at(-1)).toBe('GatewaysPending')

  const { OPENAI_API_KEY: text = '' } = await team.readyValues(name)
  expect(await gatewayStatus(gateway, text)).toBe(200)
}, 90_000)
