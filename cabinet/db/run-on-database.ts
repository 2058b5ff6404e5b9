import type { Pool } from 'pg'
import { z } from 'zod'
import { BadEnvironment, postgresUrlSetting, readEnvironment } from '../process/environment.ts'
import { ignoreInspectorSignal } from '../process/inspector.ts'
import { createPool } from './pool.ts'

const envSchema = z.object({ DATABASE_URL: postgresUrlSetting })

/** A migration may rewrite whole tables and a full check reads them; a person who does not want to wait presses Ctrl-C. */
const statementTimeoutMs = 3_600_000

/** Runs `npm run <command>` on the database at DATABASE_URL; the process exits with 2 if that is not set or not a URL. */
export async function runOnDatabase(
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
