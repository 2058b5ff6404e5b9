import { z } from 'zod'
import { migrate } from './migrate.ts'
import { createPool } from './pool.ts'

/** `node cabinet/db/main.ts`: migrates the database at DATABASE_URL and ends. */
const config = z.object({ DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }) }).safeParse(process.env)
if (!config.success) {
  process.stderr.write('DATABASE_URL must be a postgres:// address\n')
  process.exit(2)
}

const pool = createPool({
  databaseUrl: config.data.DATABASE_URL,
  applicationName: 'model-gateway-migrate',
  statementTimeoutMs: 3_600_000, // a migration may rewrite whole tables
})
try {
  const applied = await migrate(pool)
  process.stdout.write(applied.length === 0 ? 'nothing to migrate\n' : `applied ${applied.join(', ')}\n`)
} finally {
  await pool.end()
}
