import type { Pool } from 'pg'
import { z } from 'zod'
import { BadEnvironment, postgresUrlSetting, readEnvironment } from '../process/environment.ts'
import { ignoreInspectorSignal } from '../process/inspector.ts'
import { findMissingMigration } from './internal/missing-migration.ts'
import { createPool } from './pool.ts'

const envSchema = z.object({ DATABASE_URL: postgresUrlSetting })

/** A migration may rewrite whole tables and a full check reads them; a person who does not want to wait presses Ctrl-C. */
const statementTimeoutMs = 3_600_000

/**
 * Runs `npm run <command>` on the database at DATABASE_URL. The process exits with 2 if that is not set or not a URL, and
 * with 1 where the database lacks a migration of this version: then `work` was not begun.
 */
export function runOnDatabase(
  command: string,
  env: NodeJS.ProcessEnv,
  work: (pool: Pool) => Promise<void>,
): Promise<void> {
  return runOnAnySchema(command, env, async (pool) => {
    const missing = await findMissingMigration(pool)
    if (missing === undefined) return work(pool)
    process.stderr.write(
      `npm run ${command} needs migration ${missing}, which this database does not have yet. Run npm run migrate first.\n`,
    )
    process.exitCode = 1
  })
}

/** The same for a command that asks nothing of the schema. */
export async function runOnAnySchema(
  command: string,
  env: NodeJS.ProcessEnv,
  work: (pool: Pool) => Promise<void>,
): Promise<void> {
  ignoreInspectorSignal()
  const databaseUrl = findDatabaseUrl(command, env)
  if (databaseUrl === undefined) return
  const pool = createPool({ databaseUrl, applicationName: `model-gateway-${command}`, statementTimeoutMs })
  try {
    await work(pool)
  } finally {
    await pool.end()
  }
}

function findDatabaseUrl(command: string, env: NodeJS.ProcessEnv): string | undefined {
  try {
    return readEnvironment(`npm run ${command}`, envSchema, env).DATABASE_URL
  } catch (error) {
    if (!(error instanceof BadEnvironment)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
    return undefined
  }
}
