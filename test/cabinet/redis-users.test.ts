import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { createAdmission } from '#core/admission/admission'
import { createPosting } from '#core/admission/posting'
import { createCatalogCopy } from '#core/catalog/internal/published-catalog'
import type { KeyHash } from '#core/keys/key'
import { connectRedis, type RedisConnection } from '#core/redis/redis-connection'
import { allShards, type Shard } from '#core/redis/shard'
import { redisOfThisFile } from '../support/redis.ts'
import { readRefusals, redisUrlOf } from '../support/redis-logins.ts'

// That each user can do its job is proven by every other test: their processes have these users (stack.ts).
const server = await redisOfThisFile()

/** A user's connection, which returns Redis's replies, including errors. */
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
  SCRIPT LOAD x, SCRIPT FLUSH, FUNCTION LIST, FUNCTION FLUSH, FUNCTION DELETE mg, FUNCTION DUMP,
  DEL mg:{s00}:charges, RENAME mg:routes x, SET other 1, GET other, PUBLISH other 1, SUBSCRIBE other`

const refusedToGateway = `
  SET mg:routes:rev 1, SET mg:routes:digest 1, HSET mg:routes route:a/b x, HDEL mg:routes route:a/b,
  SET mg:pepper x, PUBLISH mg:routes:rev 1, HSET mg:{s00}:cred:x key y, HSET mg:{s00}:key:x rpm 1,
  SCAN 0, HSET mg:{s00}:shard cursor 1, HGET mg:{s00}:shard cursor, GET mg:standalone:database,
  EVAL return 0, EVAL_RO return 0, EVALSHA x 0, EVALSHA_RO x 0`

const refusedToWorker = `
  FCALL x 0, FCALL_RO x 0, FUNCTION LOAD x, FUNCTION LOAD REPLACE x,
  HSET mg:gateways g x, SET mg:standalone:database x`

const refusedToCabinet = `
  HSET mg:{s00}:org:x posted 1, HSET mg:{s00}:use:x day 1, HSET mg:{s00}:key:x rpm 1, HSET mg:{s00}:cred:x key y,
  HSET mg:{s00}:epoch nonce x, DEL mg:{s00}:refused:x, LPUSH mg:{s00}:refused:x y, GET mg:{s00}:request:x,
  XRANGE mg:{s00}:charges - +, ZRANGE mg:{s00}:due 0 -1, HMGET mg:{s00}:shard cursor, HMGET mg:routes route:a/b,
  GET mg:routes:rev, SET mg:throttles 1, FUNCTION LOAD x, FCALL mg_x 0, SCAN 0, PUBLISH mg:routes:rev 1,
  SUBSCRIBE mg:routes:rev, EVAL return 1 mg:{s00}:epoch, GET mg:pepper`

/** Commands with commas between them. */
const each = (...lists: string[]) => lists.flatMap((list) => list.split(',').map((command) => command.trim()))

test.each(each(refusedToBoth, refusedToGateway))('a gateway is refused %s', async (command) => {
  expect(await connect(redisUrlOf.gateway(server.url))(command)).toMatch(/^NOPERM/)
})

test.each(each(refusedToBoth, refusedToWorker))('a worker is refused %s', async (command) => {
  expect(await connect(redisUrlOf.worker(server.url))(command)).toMatch(/^NOPERM/)
})

const mayRunScripts = (command: string) => command !== 'EVAL return 0'

test.each([...each(refusedToBoth).filter(mayRunScripts), ...each(refusedToCabinet)])(
  'a cabinet is refused %s',
  async (command) => {
    expect(await connect(redisUrlOf.cabinet(server.url))(command)).toMatch(/^NOPERM/)
  },
)

test('a cabinet reads keys and rejections by read-only scripts, and writes only its throttles', async () => {
  const redis = new Redis(redisUrlOf.cabinet(server.url))
  onTestFinished(() => redis.disconnect())
  const owner = new Redis(server.url)
  onTestFinished(() => owner.disconnect())
  await owner.hset('mg:{s00}:org:seen', 'posted', '7')

  const look = `redis.call('TIME') redis.call('HGET', 'mg:{s00}:cred:x', 'key') redis.call('HMGET', 'mg:{s00}:use:x', 'sum')
    redis.call('HMGET', 'mg:{s00}:key:x', 'state') redis.call('HMGET', KEYS[1], 'nonce')
    return redis.call('HMGET', 'mg:{s00}:org:seen', 'posted')`
  expect(await redis.eval_ro(look, 1, 'mg:{s00}:epoch')).toEqual(['7'])
  expect(await redis.lrange('mg:{s00}:refused:x', 0, -1)).toEqual([])
  expect(await redis.zrangebyscore('mg:{s00}:refused:recent', 0, '+inf')).toEqual([])

  redis.defineCommand('count', {
    numberOfKeys: 1,
    lua: `redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
      local used = redis.call('INCRBY', KEYS[1], ARGV[1])
      if redis.call('PTTL', KEYS[1]) == -1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
      return used`,
  })
  const { count } = redis as Redis & Record<'count', (key: string, ...args: number[]) => Promise<number>>
  expect(await count.call(redis, 'mg:throttle:sign-in:x', 1, 60)).toBe(1)
  expect(await count.call(redis, 'mg:throttle:sign-in:x', 1, 60)).toBe(2)
  await expect(count.call(redis, 'mg:{s00}:org:seen', 1, 60)).rejects.toThrow(/NOPERM/)
  const blocked = redis
    .multi()
    .set('mg:throttle:sign-in:x', 9, 'EX', 60)
    .pttl('mg:throttle:sign-in:x')
    .get('mg:throttle:sign-in:x')
  expect((await blocked.exec())?.map(([error]) => error)).toEqual([null, null, null])
  expect(await redis.del('mg:throttle:sign-in:x')).toBe(1)

  const steal = "return redis.call('HSET', 'mg:{s00}:org:seen', 'posted', '8')"
  await expect(redis.eval(steal, 1, 'mg:throttle:x')).rejects.toThrow(/can't (access|run)/)
  expect(await owner.hget('mg:{s00}:org:seen', 'posted')).toBe('7')
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

test('a gateway that replaces every function of every library has no code run by a worker', async () => {
  const gateway = await connectScripts(redisUrlOf.gateway(server.url))
  const worker = await connectScripts(redisUrlOf.worker(server.url))
  const owner = new Redis(server.url)
  onTestFinished(() => owner.disconnect())
  const countRequest = () => createAdmission(gateway).count(shard, 'x' as KeyHash)
  expect(await countRequest()).toMatchObject({ outcome: 'refused' })
  await runScriptsOfWorker(worker)

  for (const { name, functions } of await listLibraries(owner))
    await gateway.redis.function('LOAD', 'REPLACE', libraryOfThief(name, functions))
  await expect(countRequest()).rejects.toThrow(/can't access at least one of the keys/)
  await runScriptsOfWorker(worker)
  expect(await owner.get('mg:pepper')).toBeNull()
})

test('no one can sign in as a user without its password', async () => {
  const url = new URL(redisUrlOf.gateway(server.url))
  url.password = 'a guess'
  const redis = new Redis(url.href, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => undefined)
  await expect(redis.connect().then(() => redis.get('mg:routes:rev'))).rejects.toThrow(/WRONGPASS|closed/)
})

const [shard = 0 as Shard] = allShards

async function connectScripts(url: string): Promise<RedisConnection> {
  const connection = connectRedis(url, { name: 'test', timeoutMs: 2_000 })
  onTestFinished(connection.close)
  await connection.connected(5_000)
  return connection
}

/** Every script that workers run, each of which does what it should. */
async function runScriptsOfWorker(worker: RedisConnection): Promise<void> {
  const posting = createPosting(worker)
  const organization = {
    kind: 'organization',
    organizationId: randomUUID(),
    version: 1n,
    postedNano: 5n,
  } as const
  const names = {
    requestIds: [],
    organizationIds: [],
    keyIds: [],
    memberIds: [],
    days: 'every',
    entriesMax: 10,
  } as const
  await posting.beginEpoch(shard, 'nonce')
  expect((await posting.project(shard, [organization], '7')).changed).toBe(1)
  expect(await posting.openEpoch(shard, 'nonce', -1)).toMatch(/opened|kept/)
  expect(await posting.recount(shard, names)).toEqual([])
  expect((await posting.sweep(shard, 10)).state).toBe('waiting')
  const booked = { entries: [], balances: [{ ...organization, version: 0n }], keyDays: [] }
  expect((await posting.apply(shard, booked)).refused).toHaveLength(1)
  const revision = BigInt(Date.now())
  expect(await createCatalogCopy(worker).publishCatalog(revision, new Map())).toBe('published')
}

async function listLibraries(owner: Redis) {
  const libraries = (await owner.function('LIST')) as unknown[][]
  return libraries.map((fields) => {
    const functions = fields[fields.indexOf('functions') + 1] as string[][]
    return {
      name: String(fields[fields.indexOf('library_name') + 1]),
      functions: functions.map((each) => each[each.indexOf('name') + 1] ?? ''),
    }
  })
}

/** A library whose functions all write what a worker may write and a gateway may not. */
function libraryOfThief(name: string, functions: readonly string[]): string {
  const lines = functions.map(
    (each) =>
      `redis.register_function('${each}', function() return redis.call('SET', 'mg:pepper', 'stolen') end)`,
  )
  return [`#!lua name=${name}`, ...lines].join('\n')
}
