import { beforeAll, describe, expect, test } from 'vitest'
import { findRub } from '#core/ledger/money'
import {
  asReported,
  due,
  messages,
  ofPromptAndSaid,
  onlyBill,
  prices,
  promptTokens,
  reported,
  said,
  saidTokens,
  startBilledChat,
  streamOf,
} from '../support/billed-chat.ts'
import type { Customer } from '../support/customer.ts'
import { patientCounting } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { goodStream, plain, type Script, type Step, streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patientCounting)
})

const { say, delta, finish, usage, done } = goodStream
const booked = (customer: Customer) => onlyBill(stack, view, customer)
const untrustedCount = () => readMetric(gateway, 'usage_untrusted_total{provider="scripted"}')
const overrunCount = (cause: string) => readMetric(gateway, `hold_overruns_total{cause="${cause}"}`)
const estimatedCount = (reason: string) =>
  readMetric(gateway, `bills_estimated_total{reason="${reason}",counted_by="tokenizer"}`)

/** The provider's answer, whole, with this usage; streamed or plain as asked. */
function answer(counts: object | null | undefined, mode: 'streamed' | 'plain'): Script {
  return mode === 'streamed'
    ? streamed(said, { usage: counts ?? null })
    : plain(said.join(''), { usage: counts ?? undefined })
}

type Ask = Parameters<typeof startBilledChat>[3]

/** The bill of one whole answer with this usage. */
async function billOf(counts: object | null, mode: 'streamed' | 'plain', ask: Ask = {}) {
  const body = { stream: mode === 'streamed', ...ask.body }
  const made = await startBilledChat(stack, gateway, answer(counts, mode), { ...ask, body })
  expect(await made.client.ended).toBe('whole')
  expect(made.client.status()).toBe(200)
  return booked(made)
}

const modes = ['streamed', 'plain'] as const

/** Of a request without tools (`gateway/tokens/prompt-content.ts`). */
const templateTokens = 256

describe.each(modes)('a whole answer, %s', (mode) => {
  test('is charged by the provider’s usage', async () => {
    expect(await billOf(reported, mode)).toMatchObject({ ...asReported, outcome: 'completed' })
  })

  test('without usage is charged by our own count, and a metric counts it', async () => {
    const before = await estimatedCount('missing')
    expect(await billOf(null, mode)).toMatchObject({ ...ofPromptAndSaid, outcome: 'completed' })
    expect(await estimatedCount('missing')).toBe(before + 1)
  })

  test("with a usage of zero is charged by the gateway's own count: it had content", async () => {
    const before = await estimatedCount('missing')
    for (const prompt_tokens of [0, 100])
      expect(await billOf({ prompt_tokens, completion_tokens: 0 }, mode)).toMatchObject(ofPromptAndSaid)
    expect(await estimatedCount('missing')).toBe(before + 2)
  })

  test('with a prompt of zero is charged for its prompt by our own count, and for its output as counted', async () => {
    const before = await estimatedCount('missing')
    const counted = { prompt_tokens: 0, completion_tokens: 50 }
    expect(await billOf(counted, mode)).toMatchObject(due('estimated', promptTokens, 50))
    expect(await estimatedCount('missing')).toBe(before + 1)
    const cached = {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 100 },
    }
    expect(await billOf(cached, mode)).toMatchObject({ usageSource: 'provider' })
  })

  test.each<[string, object]>([
    ['negative', { prompt_tokens: 100, completion_tokens: -50 }],
    ['negative in its prompt', { prompt_tokens: -1, completion_tokens: 50 }],
    ['not whole', { prompt_tokens: 100.5, completion_tokens: 50 }],
    ['no number', { prompt_tokens: '100', completion_tokens: 50 }],
    ['beyond what a number can hold', { prompt_tokens: 100, completion_tokens: 2 ** 53 }],
    [
      'with more cached tokens than the prompt has',
      { ...reported, prompt_tokens_details: { cached_tokens: 101 } },
    ],
    ['with more reasoning than output', { ...reported, completion_tokens_details: { reasoning_tokens: 51 } }],
  ])('with a usage that is %s is charged by our own count, with an alarm', async (_how, counts) => {
    const before = [await untrustedCount(), await estimatedCount('untrusted')] as const
    expect(await billOf(counts, mode)).toMatchObject({ ...ofPromptAndSaid, outcome: 'completed' })
    expect(await untrustedCount()).toBe(before[0] + 1)
    expect(await estimatedCount('untrusted')).toBe(before[1] + 1)
  })

  test('is billed for no more output than n × the limit that was sent upstream', async () => {
    const ask = { body: { n: 2, max_tokens: 10 } }
    const output = (completion_tokens: number) => ({ prompt_tokens: 100, completion_tokens })
    const before = await overrunCount('output')
    expect(await billOf(output(20), mode, ask)).toMatchObject(due('provider', 100, 20))
    expect(await overrunCount('output')).toBe(before)
    expect(await billOf(output(21), mode, ask)).toMatchObject(due('provider', 100, 20))
    expect(await overrunCount('output')).toBe(before + 1)
  })

  test('is billed for no more prompt than was held for it, and a metric counts that', async () => {
    const model = await stack.createModel(prices)
    for (const [extra, overruns] of [
      [0, 0],
      [1, 1],
    ] as const) {
      const customer = await stack.createCustomer()
      await untilServed(gateway, customer.key, model)
      const body = { model, messages, stream: mode === 'streamed' }
      const most = JSON.stringify(body).length + templateTokens
      const before = await overrunCount('prompt')
      stack.upstream.answer(model, answer({ prompt_tokens: most + extra, completion_tokens: 5 }, mode))
      await (await post(gateway, customer.key, body)).text()
      expect(await booked(customer)).toMatchObject(due('provider', most, 5))
      expect(await overrunCount('prompt')).toBe(before + overruns)
    }
  })

  test('is billed for no more output than the route’s maximum where no limit was sent', async () => {
    const ask = { fields: { maxOutputTokens: 60 } }
    const output = (completion_tokens: number) => ({ prompt_tokens: 100, completion_tokens })
    expect(await billOf(output(60), mode, ask)).toMatchObject(due('provider', 100, 60))
    expect(await billOf(output(500_000), mode, ask)).toMatchObject(due('provider', 100, 60))
  })

  test('may have the whole context as its prompt where a part is no text, and no more', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const seen = {
      body: { messages: [{ role: 'user', content: [image] }] },
      fields: { contextLength: 9_000 },
    }
    const prompt = (prompt_tokens: number) => ({ prompt_tokens, completion_tokens: 5 })
    expect(await billOf(prompt(9_000), mode, seen)).toMatchObject(due('provider', 9_000, 5))
    expect(await billOf(prompt(9_001), mode, seen)).toMatchObject(due('provider', 9_000, 5))
  })

  test('shows the client what it was charged for, and the cost to the last digit, also where we counted', async () => {
    for (const [counts, input, output] of [
      [reported, 100, 50],
      [null, promptTokens, saidTokens],
    ] as const) {
      const model = await stack.createModel(prices)
      const customer = await stack.createCustomer()
      await untilServed(gateway, customer.key, model)
      stack.upstream.answer(model, answer(counts, mode))
      const options = mode === 'streamed' ? { stream: true, stream_options: { include_usage: true } } : {}
      const response = await post(gateway, customer.key, { model, messages, ...options })
      const text = await response.text()
      const last = mode === 'streamed' ? (text.split('\n\n').at(-3)?.slice('data: '.length) ?? '') : text
      const shown = JSON.parse(last).usage
      expect(shown).toMatchObject({
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input + output,
      })
      const cost = shown.cost_rub ?? response.headers.get('x-gateway-cost-rub')
      expect((await booked(customer)).costNano).toBe(findRub(cost))
    }
  })
})

test.each<[string, readonly Step[], object]>([
  [
    'twice: the last',
    [...said.map(say), usage(reported), finish(), usage(lastOf(7, 5)), done],
    due('provider', 7, 5),
  ],
  ['before the finish reason', [...said.map(say), usage(reported), finish(), done], asReported],
  [
    'only before the content: none at all',
    [usage(reported), ...said.map(say), finish(), done],
    ofPromptAndSaid,
  ],
  [
    'before the content and after it: the last',
    [usage(reported), say('Hi'), finish(), usage(lastOf(7, 5)), done],
    due('provider', 7, 5),
  ],
])('a stream with usage %s counts', async (_when, steps, owed) => {
  const made = await startBilledChat(stack, gateway, streamOf(...steps))
  expect(await made.client.ended).toBe('whole')
  expect(await booked(made)).toMatchObject({ ...owed, outcome: 'completed' })
})

function lastOf(prompt_tokens: number, completion_tokens: number): object {
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

describe('sound and an image without usage are charged by what was delivered', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QQ==' } }
  const audio = { id: 'audio_1', transcript: said.join(''), data: 'A'.repeat(6400), expires_at: 1 }
  const owed = due('estimated', promptTokens, saidTokens + 2 + 1100)

  test('streamed', async () => {
    const { id, transcript, data, expires_at } = audio
    const deltas = [{ audio: { id, transcript } }, { audio: { data } }, { audio: { expires_at } }]
    const steps = [...deltas, { images: [image] }].map((given) => delta(given))
    const made = await startBilledChat(stack, gateway, streamOf(...steps, finish(), done))
    expect(await made.client.ended).toBe('whole')
    for (const shown of [data, image.image_url.url]) expect(made.client.text()).toContain(shown)
    expect(await booked(made)).toMatchObject({ ...owed, outcome: 'completed' })
  })

  test('plain', async () => {
    const message = { role: 'assistant', content: null, audio, images: [image] }
    const script = plain('', { choices: [{ index: 0, message, finish_reason: 'stop' }], usage: undefined })
    const made = await startBilledChat(stack, gateway, script, { body: { stream: false } })
    expect(await made.client.ended).toBe('whole')
    for (const shown of [audio.data, image.image_url.url]) expect(made.client.text()).toContain(shown)
    expect(await booked(made)).toMatchObject({ ...owed, outcome: 'completed' })
  })
})

test('tokens that cannot be counted in time are estimated by their characters, and a metric counts it', async () => {
  const hurried = await stack.startGateway({ TOKEN_COUNT_TIMEOUT_MS: '1' })
  const made = await startBilledChat(stack, hurried, answer(null, 'streamed'))
  expect(await made.client.ended).toBe('whole')
  expect(await booked(made)).toMatchObject(due('estimated', 10, 8))
  const series = 'bills_estimated_total{reason="missing",counted_by="characters"}'
  expect(await readMetric(hurried, series)).toBe(1)
})

test('a text that a tokenizer could choke on is counted as any other', async () => {
  const body = { messages: [{ role: 'user', content: 'a'.repeat(100_000) }] }
  const made = await startBilledChat(stack, gateway, answer(null, 'streamed'), { body })
  expect(await made.client.ended).toBe('whole')
  expect(await booked(made)).toMatchObject(due('estimated', 12_500 + 7, saidTokens))
})
