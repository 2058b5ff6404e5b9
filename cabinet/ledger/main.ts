import { z } from 'zod'
import { createPool } from '../db/pool.ts'
import { checkInvariants } from './invariants.ts'

/** `npm run invariants`: checks the money in the database at DATABASE_URL; ends with 1 when a promise is broken. */
const config = z.object({ DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }) }).safeParse(process.env)
if (!config.success) {
  process.stderr.write('DATABASE_URL must be a postgres:// address\n')
  process.exit(2)
}

const pool = createPool({
  databaseUrl: config.data.DATABASE_URL,
  applicationName: 'model-gateway-invariants',
  statementTimeoutMs: 3_600_000, // a full check reads whole tables
})
try {
  for (const { name, breachCount, sample } of await checkInvariants(pool)) {
    process.stdout.write(
      `${name}: ${breachCount === 0 ? 'holds' : `${breachCount} breaches, as ${sample}`}\n`,
    )
    if (breachCount > 0) process.exitCode = 1
  }
} finally {
  await pool.end()
}
