import { migrate, sentenceOf } from './migrate.ts'
import { runOnAnySchema } from './run-on-database.ts'

/** `npm run migrate`: brings the database at DATABASE_URL to the newest schema. */
await runOnAnySchema('migrate', process.env, async (pool) => {
  process.stdout.write(`${sentenceOf(await migrate(pool))}\n`)
})
