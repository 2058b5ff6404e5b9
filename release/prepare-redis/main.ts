import { writeFileSync } from 'node:fs'
import { Redis, ReplyError } from 'ioredis'
import { z } from 'zod'
import { readEnvironment, redisUrlsSetting, spanMsSetting } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { tryAgain } from '#core/process/try-again'
import type { RedisUrls } from '#core/redis/open-redis'
import { aclFile, usersOf } from './internal/acl.ts'
import { atEachNode, isOfCluster, UnfitCluster } from './internal/cluster-nodes.ts'

/**
 * Creates the processes' Redis users, or sets their passwords. With `REDIS_ACL_FILE`, it writes them to a file for a
 * Redis that is about to start (`--aclfile`). Otherwise it updates a running Redis, as a user who may run `ACL`; of a
 * cluster every node, after all were found fit. Run it again when a node joins.
 */
const password = z.string().min(1)
const envSchema = z.object({
  REDIS_URL: redisUrlsSetting.optional(),
  REDIS_ACL_FILE: z.string().optional(),
  REDIS_PASSWORD: z.string().optional(),
  REDIS_PASSWORD_GATEWAY: password,
  REDIS_PASSWORD_WORKER: password,
  REDIS_PASSWORD_CABINET: password,
  /** As the worker's. */
  RENEW_EVERY_MS: spanMsSetting.default(5_000),
})

/** Pause between two connection attempts. */
const pauseMs = 2_000
const answerMs = 5_000
/** Time that the worker adds to one renewal before it opens a shard. */
const epochMarginMs = 1_000

ignoreInspectorSignal()
const env = readEnvironment('the Job that prepares Redis', envSchema, process.env)
const passwords = {
  gateway: env.REDIS_PASSWORD_GATEWAY,
  worker: env.REDIS_PASSWORD_WORKER,
  cabinet: env.REDIS_PASSWORD_CABINET,
}
if (env.REDIS_ACL_FILE !== undefined) {
  writeFileSync(env.REDIS_ACL_FILE, aclFile(passwords, env.REDIS_PASSWORD ?? ''), { mode: 0o600 })
  say(`Wrote ${env.REDIS_ACL_FILE}.`)
} else if (env.REDIS_URL === undefined) throw new Error('Set REDIS_URL or REDIS_ACL_FILE.')
else await tell(env.REDIS_URL)

async function tell(urls: RedisUrls): Promise<void> {
  const [url, ...otherUrls] = urls
  const redis = new Redis(url, { lazyConnect: true, commandTimeout: answerMs, retryStrategy: () => pauseMs })
  redis.on('error', (error) => say(`Redis is not available yet: ${error.message}`))
  await redis.connect().catch(() => undefined) // keeps retrying
  const isCluster = otherUrls.length > 0 || (await tryAgain(() => isOfCluster(redis), isNoRefusal))
  if (!isCluster) await setUsers(redis)
  redis.disconnect()
  if (isCluster) await tellCluster(urls)
}

async function tellCluster(urls: RedisUrls): Promise<void> {
  try {
    await atEachNode(urls, env.RENEW_EVERY_MS + epochMarginMs, async (redis, server) => {
      say(`At ${server}:`)
      await setUsers(redis)
    })
  } catch (error) {
    if (!(error instanceof UnfitCluster)) throw error
    say(error.message)
    process.exitCode = 1
  }
}

async function setUsers(redis: Redis): Promise<void> {
  for (const [name, ...rules] of usersOf(passwords)) {
    await tryAgain(() => redis.call('ACL', 'SETUSER', name, ...rules), isNoRefusal)
    say(`User ${name} is ready.`)
  }
  await save(redis)
}

/** Without a file, the users are lost when Redis restarts. */
async function save(redis: Redis): Promise<void> {
  try {
    await redis.call('ACL', 'SAVE')
    say('Redis has written its users to its ACL file.')
  } catch (error) {
    if (!(error instanceof Error) || isNoRefusal(error)) throw error
    say(
      `Redis keeps these users only until it restarts (${error.message}). Start it with an aclfile, or run this Job again after each restart.`,
    )
  }
}

/** An error reply of Redis is permanent: the user may not run `ACL`, or a rule is unknown. */
function isNoRefusal(error: unknown): boolean {
  return !(error instanceof ReplyError)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
