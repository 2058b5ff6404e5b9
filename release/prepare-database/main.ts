import { z } from 'zod'
import { isUnavailability } from '#core/db/availability'
import { migrate, sentenceOf } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { postgresUrlSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { tryAgain } from '#core/process/try-again'
import { type LoginUser, putLoginUsers } from './internal/login-users.ts'

/** Waits for Postgres, migrates it, and creates every process's user. Repeated runs change nothing. */
const password = z.string().min(1).optional()
const envSchema = z.object({
  /** The database owner's URL. */
  DATABASE_URL: postgresUrlSetting,
  /** Prefix of the users' names. Without it, no users are created. */
  DATABASE_USER_PREFIX: z
    .string()
    .max(40)
    .refine(
      (prefix) => prefix !== 'model_gateway',
      'must not be model_gateway, which is the name of the roles',
    )
    .optional(),
  DATABASE_PASSWORD_WORKER: password,
  DATABASE_PASSWORD_CABINET: password,
  DATABASE_PASSWORD_ADMINISTRATION: password,
  DATABASE_PASSWORD_WEBHOOK: password,
  DATABASE_PASSWORD_OPERATOR: password,
})

/** A migration may rewrite whole tables. The Job's own deadline ends it. */
const statementTimeoutMs = 3_600_000

ignoreInspectorSignal()
const env = readEnvironment('the Job that prepares the database', envSchema, process.env)
const pool = createPool({
  databaseUrl: env.DATABASE_URL,
  applicationName: 'model-gateway-prepare-database',
  connectionCountMax: 2,
  statementTimeoutMs,
})
say(sentenceOf(await whenAvailable(() => migrate(pool))))
const users = usersOf(env.DATABASE_USER_PREFIX)
await whenAvailable(() => putLoginUsers(pool, users))
for (const { name, role } of users) say(`User ${name} has the permissions of ${role}.`)
await pool.end()

function usersOf(prefix: string | undefined): LoginUser[] {
  if (prefix === undefined) return []
  const passwords = {
    worker: env.DATABASE_PASSWORD_WORKER,
    cabinet: env.DATABASE_PASSWORD_CABINET,
    administration: env.DATABASE_PASSWORD_ADMINISTRATION,
    webhook: env.DATABASE_PASSWORD_WEBHOOK,
    operator: env.DATABASE_PASSWORD_OPERATOR,
  }
  return Object.entries(passwords).flatMap(([process, password]) =>
    password === undefined
      ? []
      : [{ role: `model_gateway_${process}`, name: `${prefix}_${process}`, password }],
  )
}

function whenAvailable<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  return tryAgain(work, isUnavailability, () => say('Postgres is not available yet. Retrying in 2 s.'))
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
