import { z } from 'zod'
import { mendSums } from '../admission/mend-sums.ts'
import { runOnDatabase } from '../db/run-on-database.ts'
import { checkInvariants } from '../ledger/invariants.ts'
import { readEnvironment, redisUrlSetting } from '../process/environment.ts'
import { connectRedis } from '../redis/redis-connection.ts'

const envSchema = z.object({ REDIS_URL: redisUrlSetting.optional() })
/** For Redis to be reached, and for each of its answers; nobody waits for this command. */
const redisTimeoutMs = 10_000

/**
 * `npm run invariants`: checks all money in the database at DATABASE_URL, says how long that took, and, where REDIS_URL is set, the sums of pending
 * charges and holds there, which it corrects. Exits with 1 when an invariant is violated or a sum was wrong.
 */
await runOnDatabase('invariants', process.env, async (pool) => {
  const startMs = performance.now()
  const reports = await checkInvariants(pool)
  for (const { name, breachCount, sample } of reports) say(name, breachCount, sample)
  process.stdout.write(`checked in ${((performance.now() - startMs) / 1_000).toFixed(1)} s\n`)
  const { REDIS_URL } = readEnvironment('npm run invariants', envSchema, process.env)
  if (REDIS_URL !== undefined) await checkRedis(REDIS_URL)
})

async function checkRedis(url: string): Promise<void> {
  const redis = connectRedis(url, { name: 'model-gateway-invariants', timeoutMs: redisTimeoutMs })
  try {
    await redis.connected(redisTimeoutMs)
    const wrong = await mendSums(redis)
    const [first] = wrong
    const sample = first && `${first.field} of ${first.id}, which was ${first.was} and is ${first.isNow} now`
    say('redis_sums_are_derived', wrong.length, sample ?? null)
  } finally {
    redis.close()
  }
}

function say(name: string, breachCount: number, sample: string | null): void {
  process.stdout.write(`${name}: ${breachCount === 0 ? 'ok' : breaches(breachCount, sample)}\n`)
  if (breachCount > 0) process.exitCode = 1
}

function breaches(count: number, sample: string | null): string {
  return `${count} ${count === 1 ? 'breach' : 'breaches'}, for example ${sample}`
}
