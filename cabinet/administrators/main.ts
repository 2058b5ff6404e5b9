import { parseArgs } from 'node:util'
import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { runOnDatabase } from '#core/db/run-on-database'
import { BadEnvironment, httpUrlSetting, readEnvironment } from '#core/process/environment'
import { type RuleChange, setTwoPersonRule } from '../approvals/two-person-rule.ts'
import { emailAddress } from '../people/email-address.ts'
import { type MadeAdministrator, makeAdministrator } from './made-administrator.ts'

type Wish =
  | { readonly rule: 'on' | 'off' }
  | { readonly email: string; readonly wish: 'make' | 'reset' | 'block' }

/** Where administration is reached; the default is that of `npm start`. */
const envSchema = z.object({ ADMINISTRATION_URL: httpUrlSetting.default('http://localhost:3003') })

const usage = `Usage: npm run admin -- EMAIL [--reset | --block]
       npm run admin -- --two-person-rule on|off
EMAIL must be one email address.
  --reset  ends the administrator's sessions, and prints a token for a new password and second factor
  --block  ends the administrator's sessions, and lets them sign in no more until a reset
  --two-person-rule  whether large adjustments and refunds need a second administrator; off only while there is one
`

/** `npm run admin -- EMAIL`: makes an administrator, resets one, or blocks one; or turns the two-person rule on or off. */
const asked = readArguments()
if (asked === undefined) {
  process.stderr.write(usage)
  process.exit(2)
}
const ownUrl = readOwnUrl()

await runOnDatabase('admin', process.env, async (pool) => {
  const scope = { actor: { kind: 'command', name: 'npm run admin' }, organizationId: null } as const
  const lines = await inScope(pool, scope, async (client) =>
    'rule' in asked
      ? [ruleLine(asked.rule, await setTwoPersonRule(client, asked.rule))]
      : linesOf(asked.email, await makeAdministrator(client, asked.email, asked.wish)),
  )
  process.stdout.write(lines.join('\n').concat('\n'))
})

function readArguments(): Wish | undefined {
  try {
    const options = {
      reset: { type: 'boolean' },
      block: { type: 'boolean' },
      'two-person-rule': { type: 'string' },
    } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const rule = values['two-person-rule']
    if (rule !== undefined) {
      const isAlone = positionals.length === 0 && !values.reset && !values.block
      return isAlone && (rule === 'on' || rule === 'off') ? { rule } : undefined
    }
    const address = emailAddress.safeParse(positionals[0] ?? '')
    const { reset = false, block = false } = values
    if (!address.success || positionals.length !== 1 || (reset && block)) return undefined
    return { email: address.data, wish: reset ? 'reset' : block ? 'block' : 'make' }
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

function ruleLine(wish: 'on' | 'off', change: RuleChange): string {
  switch (change) {
    case 'changed':
      return `The two-person rule is ${wish}.`
    case 'unchanged':
      return `The two-person rule is already ${wish}. Nothing changed.`
    case 'several_administrators':
      return 'The two-person rule stays on: more than one administrator can sign in. Nothing changed.'
  }
}

function linesOf(email: string, made: MadeAdministrator): readonly string[] {
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
