import type { Pool } from 'pg'
import { z } from 'zod'
import { mendSums } from '#core/admission/mend-sums'
import { verifyChain } from '#core/audit/verify-chain'
import { runOnDatabase } from '#core/db/run-on-database'
import { checkInvariants } from '#core/ledger/invariants'
import { readEnvironment, redisUrlsSetting } from '#core/process/environment'
import { openRedis, type RedisUrls } from '#core/redis/open-redis'

const envSchema = z.object({ REDIS_URL: redisUrlsSetting.optional() })
/** Timeout for connecting to Redis, and for each response. No client waits for this command. */
const redisTimeoutMs = 10_000

/**
 * `npm run invariants`: checks all money and the audit log in the database at DATABASE_URL and prints the duration. If REDIS_URL is set,
 * it also checks and corrects the totals of pending charges and holds there. Exits with 1 if an invariant is violated
 * or a total was wrong.
 */
await runOnDatabase('invariants', process.env, async (pool) => {
  const startMs = performance.now()
  const reports = await checkInvariants(pool)
  for (const { name, breachCount, sample } of reports) say(name, breachCount, sample)
  await checkAuditLog(pool)
  process.stdout.write(`checked in ${((performance.now() - startMs) / 1_000).toFixed(1)} s\n`)
  const { REDIS_URL } = readEnvironment('npm run invariants', envSchema, process.env)
  if (REDIS_URL !== undefined) await checkRedis(REDIS_URL)
})

async function checkAuditLog(pool: Pool): Promise<void> {
  const { linkedCount, head, badCount, first } = await verifyChain(pool)
  const sample = first && `row ${first.auditId}, which is ${first.why}`
  say('audit_log_is_unchanged', badCount, sample ?? null)
  process.stdout.write(`audit log: ${linkedCount} rows, newest hash ${head === '' ? 'none' : head}\n`)
}

async function checkRedis(urls: RedisUrls): Promise<void> {
  const redis = openRedis(urls, { name: 'model-gateway-invariants', timeoutMs: redisTimeoutMs })
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
