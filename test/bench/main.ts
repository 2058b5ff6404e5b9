import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureAbandoned } from './abandoned.ts'
import { measureHistories } from './histories.ts'
import { measureHotScripts } from './hot-scripts.ts'
import { bodyOf } from './load.ts'
import {
  fullSizes,
  type Load,
  loads,
  measureInTurns,
  measurePlainTogether,
  measureRound,
  measureScripts,
  measureSoak,
  measureTogether,
  quickSizes,
  type Round,
  warmUpSizes,
} from './measure.ts'
import { measurePrompts } from './prompts.ts'
import { printReport, summarise } from './report.ts'
import { type Contestant, startBenchSystem } from './system.ts'
import { fastTokens } from './upstream.ts'
import { usesOf } from './use.ts'

/**
 * `npm run bench`: ours against two bare proxies, interleaved, everything on.
 *
 * `--adapter anthropic` (or `gemini`) compares the gateway before a provider with that API with another one before OpenAI's.
 *
 * `--client responses` (or `messages`) compares the gateway whose clients speak that API with another one whose clients chat,
 * before a provider that chats. With `--adapter openai` (or `anthropic`) that provider has the clients' API and is relayed;
 * `--against bench` puts only the chats before the one that chats.
 *
 * `--client responses --keep` compares responses that are stored with others that are not.
 *
 * `--histories` measures conversations of 900 KB instead, in each provider's API, and `--prompts` a PDF of 20 MB and 100 images instead, `--abandoned N` the memory of N abandoned streams (200);
 * with `--only`, in addition.
 *
 * `--repeats N` (5), `--soak` adds 200,000 requests for memory, `--json FILE` keeps every number.
 * For work on the speed itself: `--quick` (less of everything, no bare node:http), `--only plain,fast`,
 * `--before DIR` compares with the gateway of another checkout, in place of bare Fastify; `--node-options '--cpu-prof --cpu-prof-dir=DIR'` are the gateway's own.
 */
const { values } = parseArgs({
  options: {
    repeats: { type: 'string' },
    soak: { type: 'boolean' },
    prompts: { type: 'boolean', default: false },
    abandoned: { type: 'string' },
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    'node-options': { type: 'string', default: '' },
    before: { type: 'string' },
    adapter: { type: 'string' },
    client: { type: 'string' },
    against: { type: 'string' },
    keep: { type: 'boolean', default: false },
    histories: { type: 'boolean', default: false },
  },
})
const repeats = Number(values.repeats ?? 5)
const sizes = values.quick ? quickSizes : fullSizes
const isForOthers = values.prompts || values.histories || values.abandoned !== undefined
const only: readonly Load[] = loads.filter((load) => values.only?.split(',').includes(load) ?? !isForOthers)
const say = (line: string) => process.stderr.write(`${line}\n`)
const print = (measured: object) => process.stdout.write(`${JSON.stringify(measured, null, 2)}\n`)

// Everything that was started ends with this process, if only it ends by an exit.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(130))

if (values.histories) print(await measureHistories())
if (values.prompts) print(await measurePrompts())
if (only.length === 0 && values.abandoned === undefined) process.exit()

const { before, 'node-options': nodeOptions } = values
const uses = usesOf(values)
const system = await startBenchSystem({ nodeOptions, before, ...uses })
try {
  await waitUntilServing()
  const isOfTwo = values.quick || uses.other !== undefined
  const contestants = system.contestants.slice(0, isOfTwo ? 2 : 3)
  const rounds: Round[] = []
  await system.measureIdleRedis()
  // Load by load, each warmed up by itself: V8 throws code away that was not used for half a minute.
  const measureLoad = async (load: Load) => {
    if (load === 'together') return await measureSideBySide(load, measureTogether, contestants.slice(0, 2))
    if (load === 'plainTogether')
      return await measureSideBySide(load, measurePlainTogether, contestants.slice(0, 2))
    if (load === 'alone' || load === 'awake')
      return await measureSideBySide(load, measureInTurns(load), [...contestants, system.askingRedis])
    say(`${load}: warming up`)
    for (const contestant of contestants)
      await measureRound(system, contestant, { sizes: warmUpSizes, only: [load] })
    for (let repeat = 1; repeat <= repeats; repeat++)
      for (const contestant of contestants) {
        say(`${load}: round ${repeat} of ${repeats}: ${contestant.name}`)
        rounds.push(await measureRound(system, contestant, { sizes, only: [load] }))
      }
  }
  const measureSideBySide = async (
    load: Load,
    measure: typeof measureTogether,
    those: readonly Contestant[],
  ) => {
    say(`${load}: warming up`)
    await measure(system, those, warmUpSizes)
    for (let repeat = 1; repeat <= repeats; repeat++) {
      say(`${load}: round ${repeat} of ${repeats}`)
      rounds.push(...(await measure(system, those, sizes)))
    }
  }
  for (const load of only) await measureLoad(load)
  const scriptUs = only.includes('plain') ? await measureScripts(system) : Number.NaN
  const hotScriptUs = only.includes('plain') ? await measureHotScripts() : Number.NaN
  if (values.abandoned !== undefined) print(await measureAbandoned(system, Number(values.abandoned)))
  const soak = values.soak === true ? await measureSoak(system.contestants[0], say) : undefined
  if (rounds.length > 0) {
    const summary = {
      ...summarise(rounds, { scriptUs, hotScriptUs }),
      ...(soak === undefined ? {} : { soak }),
    }
    printReport(summary)
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify({ summary, rounds }, null, 2)}\n`)
  }
} finally {
  await system.stop()
}

async function waitUntilServing(): Promise<void> {
  for (const contestant of system.contestants.slice(0, 2)) {
    await waitUntilServed(contestant)
    await requireWholeStream(contestant)
  }
}

/** A stream that is cut costs less, and the figures of its chunks would be none. */
async function requireWholeStream({ origin, path, headers, models }: Contestant): Promise<void> {
  const body = bodyOf(`${models}fast`, 'stream', path)
  const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body })
  const tokens = (await answer.text()).split('":" token"').length - 1
  if (tokens !== fastTokens)
    throw new Error(`a stream of ${fastTokens} tokens came with ${tokens} from ${origin}${path}`)
}

async function waitUntilServed({ origin, headers, models }: Contestant): Promise<void> {
  const body = JSON.stringify({ model: `${models}plain`, messages: [{ role: 'user', content: 'ready?' }] })
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })
    if (answer.status === 200) return
    if (tries === 150) throw new Error(`the gateway did not come up: ${await answer.text()}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
