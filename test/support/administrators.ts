import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateSync } from 'otplib'
import { expect } from 'vitest'
import { aPassword, type Visitor } from './cabinet.ts'
import { inheritedEnvironment } from './environment.ts'

const run = promisify(execFile)

/** `npm run admin` on a database. */
export function adminCommand(
  databaseUrl: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  return run(process.execPath, ['cabinet/administrators/main.ts', ...args], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...inheritedEnvironment, DATABASE_URL: databaseUrl, ...env },
  })
}

/** The token that the command printed; empty: none. */
export function setUpTokenIn(stdout: string): string {
  return /^([\w-]{43})$/m.exec(stdout)?.[1] ?? ''
}

/** Sets up an administrator with a printed token, after which `visitor` is signed in. Answers the second factor's secret. */
export async function setUpAdministrator(visitor: Visitor, token: string): Promise<string> {
  const { status, body } = await visitor.post('/auth/setup', { token, password: aPassword })
  expect({ status, body }).toMatchObject({ status: 200 })
  const confirmed = await visitor.post('/auth/setup/confirm', { token, code: codeOf(body.secret) })
  expect(confirmed.body.recovery_codes).toHaveLength(10)
  return body.secret
}

/** A code of a second factor, so many steps of 30 s from now. */
export function codeOf(secret: string, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps })
}
