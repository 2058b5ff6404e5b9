import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisOfThisFile } from '../support/redis.ts'
import { readRefusals, redisUrlOf } from '../support/redis-logins.ts'

// That each user can do its job is proven by every other test: their processes have these users (stack.ts).
const server = await redisOfThisFile()

/** A connection of a user, which says what Redis answers, errors too. */
function connect(url: string) {
  const redis = new Redis(url)
  onTestFinished(() => redis.disconnect())
  return (command: string) => {
    const [name = '', ...args] = command.split(' ')
    return redis.call(name, ...args).then(
      (answer) => String(answer),
      (error: Error) => error.message,
    )
  }
}

const refusedToBoth = `
  FLUSHALL, FLUSHDB, KEYS *, CONFIG GET *, CONFIG SET maxmemory 1, SAVE, BGREWRITEAOF, SHUTDOWN,
  ACL LIST, ACL SETUSER x on, MONITOR, REPLICAOF 127.0.0.1 1, CLIENT LIST, CLIENT KILL TYPE normal,
  EVAL return 0, SCRIPT FLUSH, FUNCTION FLUSH, FUNCTION DELETE mg, FUNCTION DUMP,
  DEL mg:{s00}:charges, RENAME mg:routes x, SET other 1, GET other, PUBLISH other 1, SUBSCRIBE other`

const refusedToGateway = `
  SET mg:routes:rev 1, SET mg:routes:digest 1, HSET mg:routes route:a/b x, HDEL mg:routes route:a/b,
  SET mg:pepper x, PUBLISH mg:routes:rev 1, HSET mg:{s00}:cred:x key y, HSET mg:{s00}:key:x rpm 1,
  SCAN 0, HSET mg:{s00}:shard cursor 1, HGET mg:{s00}:shard cursor, GET mg:standalone:database`

const refusedToWorker = 'HSET mg:gateways g x, SET mg:standalone:database x, SUBSCRIBE other'

/** Commands with commas between them. */
const each = (...lists: string[]) => lists.flatMap((list) => list.split(',').map((command) => command.trim()))

test.each(each(refusedToBoth, refusedToGateway))('a gateway is refused %s', async (command) => {
  expect(await connect(redisUrlOf.gateway(server.url))(command)).toMatch(/^NOPERM/)
})

test.each(each(refusedToBoth, refusedToWorker))('a worker is refused %s', async (command) => {
  expect(await connect(redisUrlOf.worker(server.url))(command)).toMatch(/^NOPERM/)
})

test('a script may do no more than who calls it, and what is refused is noted', async () => {
  const source = `#!lua name=stolen
    redis.register_function('stolen', function() return redis.call('SET', 'mg:routes:rev', '1') end)`
  const redis = new Redis(redisUrlOf.gateway(server.url))
  onTestFinished(() => redis.disconnect())
  await redis.function('LOAD', source)
  await expect(redis.fcall('stolen', 0)).rejects.toThrow(/can't access at least one of the keys/)
  expect(await readRefusals(server.url)).toContain('model_gateway_gateway: key mg:routes:rev')
})

test('nobody is let in as a user without its password', async () => {
  const url = new URL(redisUrlOf.gateway(server.url))
  url.password = 'a guess'
  const redis = new Redis(url.href, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => undefined)
  await expect(redis.connect().then(() => redis.get('mg:routes:rev'))).rejects.toThrow(/WRONGPASS|closed/)
})
