import { parseArgs } from 'node:util'
import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { runOnDatabase } from '#core/db/run-on-database'
import { BadEnvironment, httpUrlSetting, readEnvironment } from '#core/process/environment'
import { emailAddress } from '../people/email-address.ts'
import { type MadeAdministrator, makeAdministrator } from './made-administrator.ts'

/** Where administration is reached; the default is that of `npm start`. */
const envSchema = z.object({ ADMINISTRATION_URL: httpUrlSetting.default('http://localhost:3003') })

const usage = `Usage: npm run admin -- EMAIL [--reset | --block]
EMAIL must be one email address.
  --reset  ends the administrator's sessions, and prints a token for a new password and second factor
  --block  ends the administrator's sessions, and lets them sign in no more until a reset
`

/** `npm run admin -- EMAIL`: makes an administrator, resets one, or blocks one. */
const asked = readArguments()
if (asked === undefined) {
  process.stderr.write(usage)
  process.exit(2)
}
const { email, wish } = asked
const ownUrl = readOwnUrl()

await runOnDatabase('admin', process.env, async (pool) => {
  const scope = { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null } as const
  const made = await inScope(pool, scope, (client) => makeAdministrator(client, email, wish))
  process.stdout.write(linesOf(made).join('\n').concat('\n'))
})

function readArguments() {
  try {
    const options = { reset: { type: 'boolean' }, block: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const address = emailAddress.safeParse(positionals[0] ?? '')
    const { reset = false, block = false } = values
    if (!address.success || positionals.length !== 1 || (reset && block)) return undefined
    return { email: address.data, wish: reset ? 'reset' : block ? 'block' : 'make' } as const
  } catch {
    return undefined // an unknown option
  }
}

function readOwnUrl(): string {
  try {
    const { ADMINISTRATION_URL } = readEnvironment('npm run admin', envSchema, process.env)
    return ADMINISTRATION_URL.replace(/\/+$/, '')
  } catch (error) {
    if (!(error instanceof BadEnvironment)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

function linesOf(made: MadeAdministrator): readonly string[] {
  if ('token' in made)
    return [
      `${email} is an administrator who has no password and no second factor yet. Set both within an hour with this token, which works once:`,
      made.token,
      `Open ${ownUrl}/setup and enter it there.`,
    ]
  switch (made.was) {
    case 'ready':
      return [
        `${email} is already an administrator. Nothing changed. For a new password and second factor, add --reset.`,
      ]
    case 'blocked':
      return [`${email} is blocked. Nothing changed. To let them set up the account again, add --reset.`]
    case 'unknown':
      return [`${email} is not an administrator. Nothing changed.`]
    case 'now_blocked':
      return [`${email} is blocked, and was signed out everywhere.`]
  }
}
