import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { runOnDatabase } from '#core/db/run-on-database'
import { BadEnvironment, httpUrlSetting, readEnvironment } from '#core/process/environment'
import { makeAdministrator } from './internal/administrators.ts'
import { emailAddress } from './internal/email-address.ts'

const envSchema = z.object({ APP_URL: httpUrlSetting })

/** `npm run admin -- EMAIL`: creates an administrator, or makes a registered user an administrator. */
const asked = emailAddress.safeParse(process.argv[2] ?? '')
if (!asked.success || process.argv.length !== 3) {
  process.stderr.write('Usage: npm run admin -- EMAIL\nEMAIL must be one email address.\n')
  process.exit(2)
}
const email = asked.data
const appUrl = readAppUrl()

await runOnDatabase('admin', process.env, async (pool) => {
  const scope = { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null } as const
  const made = await inScope(pool, scope, (client) => makeAdministrator(client, email, appUrl))
  process.stdout.write(
    sentencesOf(made, email)
      .map((line) => `${line}\n`)
      .join(''),
  )
})

function readAppUrl(): string {
  try {
    return readEnvironment('npm run admin', envSchema, process.env).APP_URL.replace(/\/+$/, '')
  } catch (error) {
    if (!(error instanceof BadEnvironment)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

function sentencesOf(
  made: Awaited<ReturnType<typeof makeAdministrator>>,
  address: string,
): readonly string[] {
  const next =
    'After signing in, set up two-factor authentication. Until then, administration returns 403 mfa_required.'
  if ('link' in made)
    return [
      `${address} is an administrator and has no password yet. Set one within an hour with this link, which works once:`,
      made.link,
      next,
    ]
  if (made.was === 'administrator') return [`${address} is already an administrator. Nothing changed.`]
  if (made.was === 'blocked') return [`${address} is blocked and was not made an administrator.`]
  return [
    `${address} is now an administrator and was signed out everywhere. Their password stays the same.`,
    next,
  ]
}
