import { runOnDatabase } from '../db/run-on-database.ts'
import { checkInvariants } from './internal/invariants.ts'

/** `npm run invariants`: checks the money in the database at DATABASE_URL; exits with 1 when one is violated. */
await runOnDatabase('invariants', process.env, async (pool) => {
  for (const { name, breachCount, sample } of await checkInvariants(pool)) {
    process.stdout.write(`${name}: ${breachCount === 0 ? 'ok' : breaches(breachCount, sample)}\n`)
    if (breachCount > 0) process.exitCode = 1
  }
})

function breaches(count: number, sample: string | null): string {
  return `${count} ${count === 1 ? 'breach' : 'breaches'}, for example ${sample}`
}
