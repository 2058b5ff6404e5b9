import { migrate } from './migrate.ts'
import { runOnDatabase } from './run-on-database.ts'

/** `npm run migrate`: brings the database at DATABASE_URL to the newest schema. */
await runOnDatabase('migrate', process.env, async (pool) => {
  const applied = await migrate(pool)
  process.stdout.write(
    applied.length === 0 ? 'The schema is up to date.\n' : `Applied ${applied.join(', ')}.\n`,
  )
})
