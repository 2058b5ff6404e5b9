import { writeFileSync } from 'node:fs'
import { Redis, ReplyError } from 'ioredis'
import { z } from 'zod'
import { readEnvironment, redisUrlSetting } from '#cabinet/process/environment'
import { ignoreInspectorSignal } from '#cabinet/process/inspector'
import { tryAgain } from '#cabinet/process/try-again'
import { aclFile, usersOf } from './internal/acl.ts'

/**
 * Makes the Redis users of the processes, or gives them these passwords. With `REDIS_ACL_FILE` it writes them into a
 * file for a Redis that is about to start (`--aclfile`), else it tells a running one, as somebody who may use `ACL`.
 */
const password = z.string().min(1)
const envSchema = z.object({
  REDIS_URL: redisUrlSetting.optional(),
  REDIS_ACL_FILE: z.string().optional(),
  REDIS_PASSWORD: z.string().optional(),
  REDIS_PASSWORD_GATEWAY: password,
  REDIS_PASSWORD_WORKER: password,
  REDIS_PASSWORD_CABINET: password,
})

/** Between two tries to connect. */
const pauseMs = 2_000
const answerMs = 5_000

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

async function tell(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, commandTimeout: answerMs, retryStrategy: () => pauseMs })
  redis.on('error', (error) => say(`Redis is not available yet: ${error.message}`))
  await redis.connect().catch(() => undefined) // it goes on trying
  for (const [name, ...rules] of usersOf(passwords)) {
    await tryAgain(() => redis.call('ACL', 'SETUSER', name, ...rules), isNoRefusal)
    say(`User ${name} is there.`)
  }
  await save(redis)
  redis.disconnect()
}

/** Without a file, users are gone when Redis restarts. */
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

/** What Redis refuses does not pass: a user who may not use `ACL`, a rule that it does not know. */
function isNoRefusal(error: unknown): boolean {
  return !(error instanceof ReplyError)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
