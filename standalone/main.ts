import { showSecondFactor } from '#cabinet/people/totp-code'
import { formatRub } from '#core/ledger/money'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { withOldFields } from '#core/process/renamed'
import { readConfig } from './config.ts'
import type { DemoPeople } from './demo-people.ts'
import { type System, startSystem } from './start-system.ts'

const startedAtMs = performance.now()
const say = (line: string) => process.stderr.write(`  ${line}…\n`)
const tell = (line: string) => process.stderr.write(`  ${line}\n`)
let running: System | undefined

ignoreInspectorSignal()
stopOnSignal()
try {
  const config = readConfig(process.env, process.argv.slice(2), tell)
  running = await startSystem({ ...config, environment: process.env, say, tell })
  process.stdout.write(config.output === 'json' ? jsonLineOf(running) : bannerOf(running, config.dataDir))
} catch (error) {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

function jsonLineOf({
  baseUrl,
  apiKey,
  adminUrl,
  cabinetUrl,
  administrationUrl,
  mailCatcherUrl,
  testPaymentsUrl,
  organization,
  people,
}: System): string {
  const cabinet = people === undefined ? null : signInsOf(people)
  const urls = { baseUrl, apiKey, adminUrl, cabinetUrl, administrationUrl, mailCatcherUrl, testPaymentsUrl }
  return `${JSON.stringify(withOldFields({ ...urls, organization, cabinet }))}\n`
}

/** A field is `null` if it has changed since the user was seeded. */
function signInsOf({ user, administrator }: DemoPeople) {
  return {
    user: user.email,
    password: user.password ?? null,
    admin: administrator.email,
    adminPassword: administrator.password ?? null,
    adminTotp: administrator.totpSecret ?? null,
  }
}

function bannerOf(
  {
    baseUrl,
    apiKey,
    adminUrl,
    cabinetUrl,
    administrationUrl,
    mailCatcherUrl,
    testPaymentsUrl,
    organization,
    balance,
    people,
  }: System,
  dataDir: string,
): string {
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1)
  return `
Model Gateway is ready (${seconds} s)

  base URL        ${baseUrl}
  API key         ${apiKey}
  balance         ${formatRub(balance)} ₽ of organization "${organization}"
  metrics         ${adminUrl}/metrics
  cabinet         ${cabinetUrl}
  administration  ${administrationUrl}
  mail catcher    ${mailCatcherUrl}
  payments        ${testPaymentsUrl} (pay top-ups here with test money)
${people === undefined ? '' : signInLinesOf(people, administrationUrl)}
Try it:

  curl ${baseUrl}/chat/completions \\
    -H "Authorization: Bearer ${apiKey}" \\
    -H "Content-Type: application/json" \\
    -d '{"model": "demo/echo", "messages": [{"role": "user", "content": "Hello"}]}'

Models: demo/echo, demo/slow (streams 20 tokens a second), demo/error, demo/embed. Press Ctrl-C to stop. Your data stays in ${dataDir}.
`
}

function signInLinesOf({ user, administrator }: DemoPeople, administrationUrl: string): string {
  const { email, password, totpSecret } = administrator
  const factor = totpSecret === undefined ? undefined : showSecondFactor(email, totpSecret)
  return `
Sign in to the cabinet, and to administration at ${administrationUrl}:

  owner         ${user.email}   ${user.password ?? 'with the password that you set in the cabinet'}
  administrator ${email}  ${password ?? 'with the password and the second factor that you have set'}
${
  factor === undefined
    ? ''
    : `  second factor ${factor.uri} (code now: ${factor.code})
  An authenticator app shows later codes: add the second factor to it.\n`
}`
}

/** Ctrl-C arrives twice at once, from the terminal and from npm. After this time, it means that the user pressed it again. */
const impatientAfterMs = 1_000

/** During startup no orderly shutdown is needed: the servers end with this process. */
function stopOnSignal(): void {
  let stoppedAtMs: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, async () => {
      if (stoppedAtMs !== undefined) {
        if (performance.now() - stoppedAtMs > impatientAfterMs) process.exit(1)
        return
      }
      stoppedAtMs = performance.now()
      process.stderr.write('\nStopping…\n')
      if (running === undefined) process.exit(1)
      await running.stop()
      process.exit(0)
    })
}
