import { goodStream, type Script, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Books, Figures, Target } from '../abuse-case.ts'
import { contextLength, prices, freeWays as ways } from '../support/free-ways.ts'
import { plainAnswer, usageOf } from '../support/hostile-answers.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'
import { figureOfWay, paidRubOf, readWays } from '../support/ways.ts'

const rub = 1_000_000_000n
const lyingOutput = 'lying-output'
const names = Object.keys(ways)
const modelOf = (name: string) => `abuse/free-${name}`
/** What providers did for each since the last report, in nano-rubles at the model's price. They run in the thread of the attack. */
const obtained = new Map<string, bigint>()

export const freeContent: AbuseCase = {
  name: 'free-content',
  promise:
    'On 30 ₽ nobody gets more than was paid for, whatever is in a request, and a lying provider gets no more than was held.',
  customers: Object.fromEntries(names.map((name) => [name, { balanceNano: 30n * rub }])),
  models: Object.fromEntries(
    Object.entries(ways).map(([name, { quirks }]) => [modelOf(name), { ...prices, contextLength, quirks }]),
  ),
  script(provider) {
    for (const [name, { work }] of Object.entries(ways))
      provider.answer(modelOf(name), ({ body, bodyText }) => {
        const { prompt, output, usage } = work(body, Buffer.byteLength(bodyText))
        // What a lying provider writes beyond its limit counts where it is delivered.
        const written = name === lyingOutput ? 0 : output
        const cost = BigInt(prompt) * prices.inputNano + BigInt(written) * prices.outputNano
        obtained.set(name, (obtained.get(name) ?? 0n) + cost)
        return answerOf(body.stream === true, 'word '.repeat(output), usage ?? usageOf(prompt, output))
      })
  },
  growthMiBMax: 250,
  attack,
  readFigures: (books) => ({ '₽ paid': names.reduce((sum, name) => sum + paidRubOf(books[name]), 0) }),
  readWays: (books, figures) => readWays(names, books, figures),
  findFaults: (books, figures) =>
    names.flatMap((name) => faultsOf(name, figures[figureOfWay(name, '₽')] ?? 0, books[name])),
}

function answerOf(isStream: boolean, content: string, usage: object): Script {
  if (!isStream) return { steps: [{ send: plainAnswer({ content }, usage) }] }
  const { role, say, finish, usage: count, done } = goodStream
  return { headers: streamHeaders, steps: [role, say(content), finish(), count(usage), done] }
}

function faultsOf(name: string, got: number, books: Books | undefined): readonly string[] {
  const paid = paidRubOf(books)
  const balance = Number(books?.balanceNano ?? 0n) / 1e9
  const mostGot = 1.01 * paid + (ways[name]?.lossRubMax ?? 0)
  return [
    ...(got > mostGot ? [`${name}: ${got.toFixed(3)} ₽ obtained, ${paid.toFixed(3)} ₽ paid`] : []),
    ...(balance < 0 ? [`${name}: the balance is ${balance} ₽`] : []),
  ]
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  const ofWays = createTally()
  let turn = 0

  async function ask(name: string, stream: boolean): Promise<void> {
    const { status, text } = await chat(port, keys[name] ?? '', {
      model: modelOf(name),
      max_tokens: 5,
      stream,
      ...ways[name]?.body,
    })
    statuses.add(status)
    ofWays.add(figureOfWay(name, status))
    const words = BigInt(text.split('word ').length - 1)
    if (name === lyingOutput) obtained.set(name, (obtained.get(name) ?? 0n) + words * prices.outputNano)
  }

  await repeat({ forMs }, { lanes: 4, everyMs: 100 }, async () => {
    const name = names[turn % names.length] ?? ''
    // Each way is streamed every other time.
    const stream = (turn + Math.floor(turn / names.length)) % 2 === 0
    turn += 1
    await Promise.all(Array.from({ length: ways[name]?.atOnce ?? 1 }, () => ask(name, stream)))
  })
  const got = [...obtained].map(([name, nano]) => [figureOfWay(name, '₽'), Number(nano) / 1e9])
  obtained.clear()
  return {
    figures: { ...statuses.counts, ...ofWays.counts, ...Object.fromEntries(got) } satisfies Figures,
    breaches: onlyThese(statuses.counts, [200, 402, 429]),
  }
}
