import { runOnDatabase } from '../db/run-on-database.ts'
import { checkInvariants } from './invariants.ts'

/** `npm run invariants`: checks the money in the database at DATABASE_URL; ends with 1 when a promise is broken. */
await runOnDatabase('invariants', process.env, async (pool) => {
  for (const { name, breachCount, sample } of await checkInvariants(pool)) {
    process.stdout.write(
      `${name}: ${breachCount === 0 ? 'holds' : `${breachCount} breaches, as ${sample}`}\n`,
    )
    if (breachCount > 0) process.exitCode = 1
  }
})
