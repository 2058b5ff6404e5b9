import { formatRub } from '#cabinet/money'
import { readSettings } from './settings.ts'
import { type System, startSystem } from './start-system.ts'

const settings = readSettings(process.env, process.argv.slice(2))
const startedAtMs = performance.now()
const say = (line: string) => process.stderr.write(`  ${line}…\n`)
const tell = (line: string) => process.stderr.write(`  ${line}\n`)

try {
  const system = await startSystem({ ...settings, environment: process.env, say, tell })
  stopOnSignal(system) // first: who reads that we are ready may stop us at once
  process.stdout.write(settings.output === 'json' ? jsonLineOf(system) : bannerOf(system))
} catch (error) {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

function jsonLineOf({ baseUrl, apiKey, adminUrl, cabinetUrl, organization }: System): string {
  return `${JSON.stringify({ baseUrl, apiKey, adminUrl, cabinetUrl, organization })}\n`
}

function bannerOf({ baseUrl, apiKey, adminUrl, cabinetUrl, organization, balance }: System): string {
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1)
  return `
Model Gateway is ready (${seconds} s)

  base address  ${baseUrl}
  API key       ${apiKey}
  balance       ${formatRub(balance)} ₽ of organization "${organization}"
  admin port    ${adminUrl}/metrics
  cabinet       ${cabinetUrl} (so far it answers ${baseUrl}/requests/…)

Try it:

  curl ${baseUrl}/chat/completions \\
    -H "Authorization: Bearer ${apiKey}" \\
    -H "Content-Type: application/json" \\
    -d '{"model": "demo/echo", "messages": [{"role": "user", "content": "Hello"}]}'

Models: demo/echo, demo/slow (streams 20 tokens a second), demo/error, demo/embed. Ctrl-C stops everything; the data stay in ${settings.dataDir}.
`
}

function stopOnSignal(system: System): void {
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, async () => {
      if (stopping) return // Ctrl-C comes twice: from the terminal and from npm
      stopping = true
      process.stderr.write('\nStopping…\n')
      await system.stop()
      process.exit(0)
    })
}
