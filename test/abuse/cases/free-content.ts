import type { AbuseCase, Books, Figures, Target } from '../abuse-case.ts'
import { type ClientApi, clientApis, saidIn } from '../support/client-apis.ts'
import { contextLength, freeWays, prices, type Way } from '../support/free-ways.ts'
import { answerTo, usageOf } from '../support/hostile-answers.ts'
import { ask, createTally, onlyThese, repeat } from '../support/raw-client.ts'
import { figureOfWay, paidRubOf, readWays } from '../support/ways.ts'

const rub = 1_000_000_000n

/** In each API of clients. */
export const freeContent: readonly AbuseCase[] = clientApis.map(caseOf)

function caseOf(api: ClientApi): AbuseCase {
  const ways = freeWays[api]
  const names = Object.keys(ways)
  const modelOf = (name: string) => `abuse/free-${api}-${name}`
  /** What providers did for each since the last report, in nano-rubles at the model's price. They run in the thread of the attack. */
  const obtained = new Map<string, bigint>()
  const obtain = (name: string, cost: bigint) => void obtained.set(name, (obtained.get(name) ?? 0n) + cost)
  return {
    name: api === 'chat' ? 'free-content' : `free-content-${api}`,
    promise: `On 30 ₽ nobody gets more than was paid for, whatever is in a request (${api}), and a lying provider gets no more than was held.`,
    customers: Object.fromEntries(names.map((name) => [name, { balanceNano: 30n * rub }])),
    models: Object.fromEntries(
      Object.entries(ways).map(([name, { provider }]) => [
        modelOf(name),
        { ...prices, contextLength, provider },
      ]),
    ),
    script(provider) {
      for (const [name, { work }] of Object.entries(ways))
        provider.answer(modelOf(name), (request) => {
          const { prompt, output, usage } = work(request.body, Buffer.byteLength(request.bodyText))
          // What a lying provider writes beyond its limit counts where it is delivered.
          const written = isLyingOutput(name) ? 0 : output
          obtain(name, BigInt(prompt) * prices.inputNano + BigInt(written) * prices.outputNano)
          return answerTo(request, 'word '.repeat(output), usage ?? usageOf(prompt, output))
        })
    },
    growthMiBMax: 250,
    async attack(target) {
      const counts = await tryAll(target, { api, ways, modelOf }, (name, words) =>
        obtain(name, words * prices.outputNano),
      )
      const got = [...obtained].map(([name, nano]) => [figureOfWay(name, '₽'), Number(nano) / 1e9])
      obtained.clear()
      return {
        figures: { ...counts.statuses, ...counts.ofWays, ...Object.fromEntries(got) } satisfies Figures,
        breaches: onlyThese(counts.statuses, api === 'chat' ? mayBe : [...mayBe, 400]),
      }
    },
    readFigures: (books) => ({ '₽ paid': names.reduce((sum, name) => sum + paidRubOf(books[name]), 0) }),
    readWays: (books, figures) => readWays(names, books, figures),
    findFaults: (books, figures) =>
      Object.entries(ways).flatMap(([name, way]) =>
        faultsOf(name, way, figures[figureOfWay(name, '₽')] ?? 0, books[name]),
      ),
  }
}

/** Others than chat reject what refers to files and responses that are not there. */
const mayBe = [200, 402, 429]

const isLyingOutput = (name: string) => name.endsWith('lying-output')

function faultsOf(
  name: string,
  { lossRubMax = 0 }: Way,
  got: number,
  books: Books | undefined,
): readonly string[] {
  const paid = paidRubOf(books)
  const balance = Number(books?.balanceNano ?? 0n) / 1e9
  const mostGot = 1.01 * paid + lossRubMax
  return [
    ...(got > mostGot ? [`${name}: ${got.toFixed(3)} ₽ obtained, ${paid.toFixed(3)} ₽ paid`] : []),
    ...(balance < 0 ? [`${name}: the balance is ${balance} ₽`] : []),
  ]
}

type Ways = {
  readonly api: ClientApi
  readonly ways: Readonly<Record<string, Way>>
  readonly modelOf: (name: string) => string
}

/** Each way once or more often, however slow the machine is. */
async function tryAll(
  { port, keys, forMs }: Target,
  { api, ways, modelOf }: Ways,
  onLie: (name: string, words: bigint) => void,
) {
  const [statuses, ofWays] = [createTally(), createTally()]
  const names = Object.keys(ways)
  let turn = 0

  async function askBy(name: string, stream: boolean): Promise<void> {
    const limit = { [api === 'responses' ? 'max_output_tokens' : 'max_tokens']: 5 }
    const asked = { model: modelOf(name), ...limit, stream, ...ways[name]?.body }
    const { status, text } = await ask(port, keys[name] ?? '', asked, { api })
    statuses.add(status)
    ofWays.add(figureOfWay(name, status))
    if (isLyingOutput(name)) onLie(name, BigInt(saidIn(text).split('word ').length - 1))
  }

  await repeat({ forMs }, { lanes: 4, everyMs: 100, atLeast: names.length }, async () => {
    const name = names[turn % names.length] ?? ''
    // Each way is streamed every other time.
    const stream = (turn + Math.floor(turn / names.length)) % 2 === 0
    turn += 1
    await Promise.all(Array.from({ length: ways[name]?.atOnce ?? 1 }, () => askBy(name, stream)))
  })
  return { statuses: statuses.counts, ofWays: ofWays.counts }
}
