import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Answer, plain, refusal, startUpstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const providers = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
afterAll(() => Promise.all(providers.map((provider) => provider.stop())))
let gateways: readonly Process[]
let customer: Customer

beforeAll(async () => {
  await stack.startWorker()
  gateways = await Promise.all([stack.startGateway(), stack.startGateway(), stack.startGateway()])
  customer = await stack.createCustomer({ rpm: 100_000, tpm: 1_000_000_000, balanceNano: 10n ** 15n })
})

const turnCount = 20
const sessionCount = 12
const words = (about: string, length: number) => `About ${about}. `.repeat(length).slice(0, length)

/** Counts as OpenAI does: a prompt that begins like an earlier one is cached as far, from 1,024 tokens on, in steps of 128. */
function createCache() {
  const seen: string[] = []
  return (body: { readonly [field: string]: unknown }) => {
    const prompt = (body.messages as object[]).map((message) => JSON.stringify(message)).join('')
    const common = Math.max(0, ...seen.map((earlier) => commonLength(earlier, prompt)))
    seen.push(prompt)
    const steps = Math.floor(common / 4 / 128)
    return { promptTokens: Math.ceil(prompt.length / 4), cachedTokens: steps < 8 ? 0 : steps * 128 }
  }
}

function commonLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

function cachingAnswer(): Answer {
  const count = createCache()
  return ({ body }) => {
    const { promptTokens, cachedTokens } = count(body)
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: 5,
      total_tokens: promptTokens + 5,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    }
    return plain(words('the answer', 400), { usage })
  }
}

/** A model with a backend at each provider, all equal. */
async function serve(): Promise<string> {
  const id = `cached-${randomUUID()}`
  const backends = await Promise.all(
    providers.map(async (provider, at) => {
      provider.answer(id, cachingAnswer())
      const name = await stack.createProvider({ baseUrl: provider.url })
      return { name: `backend-${at}`, provider: name, model: id, priority: 0, weight: 1 }
    }),
  )
  const model = await stack.createModel({
    model: `test/${id}`,
    backends,
    attempts: 3,
    contextLength: 100_000,
  })
  for (const gateway of gateways) await untilServed(gateway, customer.key, model)
  return model
}

const idOf = (model: string) => model.slice('test/'.length)
const requestsOf = (model: string) => providers.map((provider) => provider.requestsFor(idOf(model)))

type Turn = { readonly role: string; readonly content: string }
/** How a client asks: where, and what its session is called there. */
type Way = {
  readonly path: string
  readonly body: (turns: readonly Turn[], session: string) => object
  readonly headers?: (session: string) => Record<string, string>
}
const chat = '/chat/completions'
const ways: readonly (readonly [string, Way])[] = [
  [
    'Responses with prompt_cache_key',
    { path: '/responses', body: (input, session) => ({ input, prompt_cache_key: session }) },
  ],
  [
    'Responses with the headers of Codex',
    {
      path: '/responses',
      body: (input) => ({ input }),
      headers: (session) => ({ 'session-id': randomUUID(), 'thread-id': session }),
    },
  ],
  [
    'chats with prompt_cache_key',
    { path: chat, body: (messages, session) => ({ messages, prompt_cache_key: session }) },
  ],
  ['chats without a name', { path: chat, body: (messages) => ({ messages }) }],
  [
    'Messages with the header of Claude Code',
    {
      path: '/messages?beta=true',
      body: asMessages,
      headers: (session) => ({ 'x-claude-code-session-id': session }),
    },
  ],
  ['Messages without a name', { path: '/messages', body: asMessages }],
]

function asMessages([system, ...messages]: readonly Turn[]): object {
  return { system: system?.content, messages, max_tokens: 1_000 }
}

type Details = { readonly cached_tokens: number }
type Usage = {
  readonly input_tokens_details?: Details
  readonly prompt_tokens_details?: Details
  readonly cache_read_input_tokens?: number
}

/** One turn, asked of the next gateway. */
async function ask(
  model: string,
  way: Way,
  turns: readonly Turn[],
  session: string,
): Promise<{ readonly cachedTokens: number }> {
  const { path, body, headers } = way
  const gateway = gateways[turns.length % gateways.length]
  const response = await fetch(`${gateway?.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      'content-type': 'application/json',
      ...headers?.(session),
    },
    body: JSON.stringify({ model, ...body(turns, session) }),
  })
  const answer = (await response.json()) as { readonly usage: Usage }
  // On a busy machine Redis may answer too late: such a request called no provider.
  if (response.status === 503) return ask(model, way, turns, session)
  expect(response.status, JSON.stringify(answer)).toBe(200)
  const details = answer.usage.input_tokens_details ?? answer.usage.prompt_tokens_details
  return { cachedTokens: Number(details?.cached_tokens ?? answer.usage.cache_read_input_tokens) }
}

/** A session from its first turn on. */
async function play(model: string, way: Way, count = turnCount, session = randomUUID()): Promise<number> {
  const turns: Turn[] = [{ role: 'system', content: words('the work', 6_000) }]
  let cachedTokens = 0
  for (let turn = 0; turn < count; turn += 1) {
    turns.push({ role: 'user', content: words(`${session} ${turn}`, 800) })
    cachedTokens += (await ask(model, way, turns, session)).cachedTokens
    turns.push({ role: 'assistant', content: words('the answer', 400) })
  }
  return cachedTokens
}

describe.each(ways)('%s', (_what, way) => {
  test('over three gateways and three equal backends find what a single backend would have cached', async () => {
    const model = await serve()
    const cached = await Promise.all(Array.from({ length: sessionCount }, () => play(model, way)))
    const received = requestsOf(model)
    const direct = createCache()
    const inOrder = received.flat().toSorted((a, b) => a.receivedAtMs - b.receivedAtMs)
    const most = inOrder.reduce((sum, { body }) => sum + direct(body).cachedTokens, 0)
    const found = cached.reduce((sum, tokens) => sum + tokens, 0)
    expect(found / most).toBeGreaterThan(0.95)
    expect(received.map((requests) => requests.length % turnCount)).toEqual([0, 0, 0])
  })
})

test('a session whose backend fails goes on at one other backend', async () => {
  const model = await serve()
  const session = randomUUID()
  const [, way] = ways[0] ?? expect.fail()
  await play(model, way, 2, session)
  const home = providers.find((provider) => provider.requestsFor(idOf(model)).length > 0)
  home?.answer(idOf(model), refusal(500, 'broken'))
  await play(model, way, 20, session)
  const others = providers.filter((provider) => provider !== home)
  const counts = others.map((provider) => provider.requestsFor(idOf(model)).length)
  expect(counts.toSorted((a, b) => a - b)).toEqual([0, 20])
})
