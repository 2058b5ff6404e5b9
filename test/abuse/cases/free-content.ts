import { goodStream, type Script, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Books, Target } from '../abuse-case.ts'
import { plainAnswer, usageOf } from '../support/hostile-answers.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const rub = 1_000_000_000n
/** 150 and 600 ₽ per 1M tokens. */
const prices = { inputNano: 150_000n, outputNano: 600_000n }
const contextLength = 128_000
const kib400 = 400 * 1024

const user = (content: unknown, fields: object = {}) => ({ messages: [{ role: 'user', content, ...fields }] })
const image = (detail: object = {}) => ({
  type: 'image_url',
  image_url: { url: 'https://example.com/a.png', ...detail },
})
const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUFB' } }

/** What a provider does with a request: how many tokens it reads and writes, and what it counts of them. */
type Work = { readonly prompt: number; readonly output: number; readonly usage?: object }
type Way = {
  /** The request, but for its model. */
  readonly body: object
  /** Of the request as the provider was sent it. */
  readonly work: (sent: Readonly<Record<string, unknown>>, bytes: number) => Work
  /** How much more than what is paid a lying provider may have us pay, in ₽; honest ones: 1 %. */
  readonly lossRubMax?: number
}

const limitOf = (sent: Readonly<Record<string, unknown>>) =>
  Number(sent.max_tokens ?? sent.max_completion_tokens ?? 0)
/**
 * An honest provider of a byte-level model: in the worst case a token per byte, and never more output than requested.
 */
const byBytes: Way['work'] = (sent, bytes) => ({
  prompt: Math.min(bytes, contextLength),
  output: Math.min(5, limitOf(sent)),
})
/** One that reads so many tokens from elsewhere, where it was sent something to read. */
const reading =
  (tokens: number, isSent: (sent: Readonly<Record<string, unknown>>) => boolean = () => true): Way['work'] =>
  (sent, bytes) => ({ prompt: isSent(sent) ? tokens : bytes, output: Math.min(5, limitOf(sent)) })
/** A provider that writes as many tokens as its own parameter requests. */
const writing =
  (name: string, tokens: number): Way['work'] =>
  (sent, bytes) => ({ prompt: bytes, output: name in sent ? tokens : Math.min(5, limitOf(sent)) })

/** Every way to get more than was held for it, each with 30 ₽. */
const ways: Readonly<Record<string, Way>> = {
  'tool-call-id': {
    body: {
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'x'.repeat(kib400), content: 'x' },
      ],
    },
    work: byBytes,
  },
  'reasoning-details': {
    body: user('Hi', { reasoning_details: [{ type: 'reasoning.text', text: 'x'.repeat(kib400) }] }),
    work: byBytes,
  },
  documents: { body: user('Hi', { documents: [{ text: 'x'.repeat(kib400) }] }), work: byBytes },
  metadata: { body: { ...user('Hi'), metadata: { x: 'x'.repeat(kib400) } }, work: byBytes },
  stop: { body: { ...user('Hi'), stop: ['x'.repeat(kib400)] }, work: byBytes },
  unknown: { body: user('Hi', { anything: 'x'.repeat(kib400) }), work: byBytes },
  hangul: { body: user('뷁'.repeat(40_000)), work: byBytes },
  cyrillic: { body: user('ЪЫЩЁ'.repeat(20_000)), work: byBytes },
  base64: { body: user('qZ7+x/'.repeat(20_000)), work: byBytes },
  pdf: { body: user([pdf]), work: reading(100_000) },
  image: { body: user([{ type: 'text', text: 'What is it?' }, image()]), work: reading(30_000) },
  'image-with-text': { body: user([{ ...image(), text: '' }]), work: reading(30_000) },
  'file-ids': { body: user('Hi', { file_ids: ['f'] }), work: reading(100_000) },
  search: {
    body: { ...user('Hi'), web_search_options: {} },
    work: reading(30_000, (sent) => 'web_search_options' in sent),
  },
  'server-tools': {
    body: { ...user('Hi'), tools: [{ type: 'web_search' }] },
    work: reading(30_000, (sent) => 'tools' in sent),
  },
  'other-limit': { body: { ...user('Hi'), n_predict: 30_000 }, work: writing('n_predict', 30_000) },
  prediction: {
    body: { ...user('Hi'), prediction: { type: 'content', content: 'x' } },
    work: writing('prediction', 19_990),
  },
  'lying-prompt': {
    body: user([image()]),
    work: () => ({ prompt: contextLength, output: 5, usage: usageOf(180_000, 5) }),
  },
  'lying-output': {
    body: user('Hi'),
    // Twice the limit and 64 tokens, and what comes between two looks, until it is noticed.
    work: () => ({ prompt: 10, output: 3_000 }),
    lossRubMax: 3,
  },
  'lying-zero': { body: user('Hi'), work: () => ({ prompt: 2, output: 5, usage: usageOf(0, 0) }) },
}

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
  models: Object.fromEntries(names.map((name) => [modelOf(name), { ...prices, contextLength }])),
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
  readFigures: (books) => ({ '₽ paid': names.reduce((sum, name) => sum + paidBy(books[name]), 0) }),
  findFaults: (books, figures) =>
    names.flatMap((name) => faultsOf(name, figures[nameOfObtained(name)] ?? 0, books[name])),
}

function answerOf(isStream: boolean, content: string, usage: object): Script {
  if (!isStream) return { steps: [{ send: plainAnswer({ content }, usage) }] }
  const { role, say, finish, usage: count, done } = goodStream
  return { headers: streamHeaders, steps: [role, say(content), finish(), count(usage), done] }
}

function faultsOf(name: string, got: number, books: Books | undefined): readonly string[] {
  const paid = paidBy(books)
  const balance = Number(books?.balanceNano ?? 0n) / 1e9
  const mostGot = 1.01 * paid + (ways[name]?.lossRubMax ?? 0)
  return [
    ...(got > mostGot ? [`${name}: ${got.toFixed(3)} ₽ obtained, ${paid.toFixed(3)} ₽ paid`] : []),
    ...(balance < 0 ? [`${name}: the balance is ${balance} ₽`] : []),
  ]
}

function paidBy(books: Books | undefined): number {
  return Number(books?.costsNano.reduce((sum, cost) => sum + cost, 0n) ?? 0n) / 1e9
}

const nameOfObtained = (name: string) => `₽ obtained by ${name}`

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let turn = 0
  await repeat({ forMs }, { lanes: 4, everyMs: 100 }, async () => {
    const name = names[turn % names.length] ?? ''
    const stream = turn % 2 === 0
    turn += 1
    const { status, text } = await chat(port, keys[name] ?? '', {
      model: modelOf(name),
      max_tokens: 5,
      stream,
      ...ways[name]?.body,
    })
    statuses.add(status)
    const words = BigInt(text.split('word ').length - 1)
    if (name === lyingOutput) obtained.set(name, (obtained.get(name) ?? 0n) + words * prices.outputNano)
  })
  const got = [...obtained].map(([name, nano]) => [nameOfObtained(name), Number(nano) / 1e9])
  obtained.clear()
  return {
    figures: { ...statuses.counts, ...Object.fromEntries(got) },
    breaches: onlyThese(statuses.counts, [200, 402, 429]),
  }
}
