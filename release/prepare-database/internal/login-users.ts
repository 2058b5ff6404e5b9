import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'

/** A Postgres login with the permissions of a role from the migrations. */
export type LoginUser = {
  readonly role: string
  readonly name: string
  readonly password: string
}

/** Postgres's default (scram_iterations). */
const iterations = 4096
const keyBytes = 32

/**
 * Creates the users, or sets their passwords. Postgres only gets verifiers, so its log contains no passwords.
 *
 * Two releases on one Postgres server have separate users. The server's roles are shared.
 */
export async function putLoginUsers(pool: Pool, users: readonly LoginUser[]): Promise<void> {
  for (const { role, name, password } of users) {
    const { rows } = await pool.query('select from pg_roles where rolname = $1', [name])
    const verb = rows.length === 0 ? 'create' : 'alter'
    await runFormatted(pool, `${verb} role %I login inherit password %L`, name, verifierOf(password))
    await runFormatted(pool, 'grant %I to %I', role, name)
  }
}

/** Statements about roles take no parameters, so Postgres quotes the values itself. */
async function runFormatted(pool: Pool, form: string, ...values: readonly string[]): Promise<void> {
  const places = values.map((_, n) => `$${n + 2}::text`).join(', ')
  const { rows } = await pool.query<{ text: string }>(`select format($1, ${places}) as text`, [
    form,
    ...values,
  ])
  await pool.query(rows[0]?.text ?? '')
}

/** Postgres's stored form of a password: SCRAM-SHA-256, RFC 5802. */
function verifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, keyBytes, 'sha256')
  const keyOf = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const server = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`
}
