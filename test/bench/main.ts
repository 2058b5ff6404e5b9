import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureRound, measureSoak, type Round } from './measure.ts'
import { printReport, summarise } from './report.ts'
import { startBenchSystem } from './system.ts'

/**
 * `npm run bench`: ours against two bare proxies, interleaved, everything on.
 *
 * `--repeats N` (5), `--soak` adds 200,000 requests for memory, `--json FILE` keeps every number.
 */
const { values } = parseArgs({
  options: { repeats: { type: 'string' }, soak: { type: 'boolean' }, json: { type: 'string' } },
})
const repeats = Number(values.repeats ?? 5)
const say = (line: string) => process.stderr.write(`${line}\n`)

const system = await startBenchSystem()
try {
  await waitUntilServing()
  const rounds: Round[] = []
  say('warming up')
  for (const contestant of system.contestants) await measureRound(system, contestant, 'warm-up')
  for (let repeat = 1; repeat <= repeats; repeat++)
    for (const contestant of system.contestants) {
      say(`round ${repeat} of ${repeats}: ${contestant.name}`)
      rounds.push(await measureRound(system, contestant, 'measured'))
    }
  const soak = values.soak === true ? await measureSoak(system.contestants[0], say) : undefined
  const summary = { ...summarise(rounds), ...(soak === undefined ? {} : { soak }) }
  printReport(summary)
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ summary, rounds }, null, 2)}\n`)
} finally {
  await system.stop()
}

async function waitUntilServing(): Promise<void> {
  const [{ origin, headers }] = system.contestants
  const body = JSON.stringify({ model: 'bench/plain', messages: [{ role: 'user', content: 'ready?' }] })
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })
    if (answer.status === 200) return
    if (tries === 150) throw new Error(`the gateway did not come up: ${await answer.text()}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
