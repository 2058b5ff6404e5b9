import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { putPrice, putRoute } from '#core/catalog/catalog-store'
import { findRub, nanoRub } from '#core/ledger/money'
import { costOf, noTokens, type Price, type TokenClasses } from '#core/ledger/price'
import { messages, promptTokens, said, saidTokens } from '../support/billed-chat.ts'
import { storedRoute } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import { type LeavingClient, startChat } from '../support/leaving-client.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { type Booked, settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Script, type Step, startUpstream, streamHeaders, type Upstream } from '../support/upstream.ts'
import { type UsageFormat, usageFormats } from '../support/usage-formats.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  const web = await stack.startWeb()
  const cabinet = new URL(web.baseUrl).origin
  // The thread that counts may be slow to start on a busy machine.
  gateway = await stack.startGateway({ ...patient, CABINET_URL: cabinet })
})

type Prices = Omit<Price, 'id'>

const nano = (price: bigint | null) => (price === null ? null : nanoRub(price))

/** Each class has a separate price, and a request has one, too. */
const separate: Prices = {
  input: nanoRub(10_000n),
  cachedInput: nano(1_000n),
  cacheWrite: nano(12_500n),
  output: nanoRub(30_000n),
  reasoning: nano(20_000n),
  perRequest: nanoRub(7n),
}
/** A class without a price has that of its family. */
const byFamily: Prices = {
  ...separate,
  cachedInput: null,
  cacheWrite: null,
  reasoning: null,
  perRequest: nanoRub(0n),
}

type Served = { readonly server: Upstream; readonly model: string; readonly customer: Customer }

/** A new customer of a new model at a server with this API, which gives these answers. */
async function serve(
  format: UsageFormat,
  prices: Prices,
  scripts: readonly [Script, ...Script[]],
): Promise<Served> {
  const server = await startUpstream({ api: format.server })
  onTestFinished(() => server.stop())
  server.answer(format.modelId, ...scripts)
  const { api, quirks, headers, modelId } = format
  const provider = await stack.createProvider({ api, quirks, baseUrl: server.url, headers })
  const model = `test/priced-${randomBytes(6).toString('hex')}`
  const backends = [{ name: 'main', provider, model: modelId, priority: 0, weight: 1 }]
  await inTestScope(stack.database.pool, async (client) => {
    await putPrice(client, model, prices)
    const route = storedRoute(model, { backends, maxOutputTokens: 2_000, contextLength: 128_000 })
    await putRoute(client, route, 'priced')
  })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { server, model, customer }
}

const booksOf = ({ customer }: Served, requests = 1) =>
  settledBooks(stack, view, customer.organizationId, { requests })

async function onlyBill(served: Served) {
  const [only] = (await booksOf(served)).values()
  if (only === undefined) throw new Error('nothing was booked')
  const { costNano, record } = only
  return { ...record, costNano }
}

type Receipt = { readonly cost_rub: string; readonly usage_source: string; readonly tokens: object }

async function receiptOf({ customer }: Served, id: string): Promise<Receipt> {
  const headers = { authorization: `Bearer ${customer.key}` }
  const answer = await fetch(`${gateway.baseUrl}/requests/${id}`, { headers })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Receipt
}

/** The APIs of the gateway: how a client asks, and the error of a stream that its provider cut. */
const clients = {
  chat: {
    path: '/chat/completions',
    bodyOf: (content: unknown) => ({ messages: [{ role: 'user', content }] }),
    streamed: { stream: true, stream_options: { include_usage: true } },
    cutCode: 'upstream_error',
  },
  responses: {
    path: '/responses',
    bodyOf: (input: unknown) => ({ input }),
    streamed: { stream: true },
    cutCode: 'server_error',
  },
  messages: {
    path: '/messages',
    bodyOf: (content: unknown) => ({ messages: [{ role: 'user', content }], max_tokens: 1_000 }),
    streamed: { stream: true },
    cutCode: 'upstream_error',
  },
} as const
type Client = (typeof clients)[keyof typeof clients]

/** One request to its end: its id, and its cost as the response states it. */
async function costShown(
  served: Served,
  mode: 'plain' | 'stream',
  asked: object,
  { path, streamed }: Client = clients.chat,
) {
  const options = mode === 'stream' ? streamed : {}
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: served.model, ...asked, ...options }),
  })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const costs = text.match(/(?<="cost_rub":")[^"]+/g) ?? []
  const [cost = ''] = mode === 'stream' ? costs : [response.headers.get('x-gateway-cost-rub') ?? '']
  return { id: response.headers.get('x-gateway-request-id') ?? '', costNano: findRub(cost) }
}

const script = (format: UsageFormat, mode: 'plain' | 'stream', usage: object | undefined): Script => {
  if (mode === 'plain') return format.whole(said.join(''), usage)
  return streamOf(...format.begin(usage), ...said.map(format.say), ...format.end(usage))
}

const streamOf = (...steps: readonly Step[]): Script => ({ headers: streamHeaders, steps })

/** It has more bytes than any count here has tokens. */
const longPrompt = 'x'.repeat(800)
const prompt = messages[0]?.content

/** Different counts of every class; together, and each next to the two that every request has. */
const counts: readonly TokenClasses[] = [
  { input: 80, cachedInput: 40, cacheWrite: 23, output: 31, reasoning: 53 },
  { ...noTokens, input: 11, output: 3 },
  { ...noTokens, input: 11, cachedInput: 400, output: 3 },
  { ...noTokens, input: 11, cacheWrite: 300, output: 3 },
  { ...noTokens, input: 11, output: 3, reasoning: 500 },
]

const modes = ['plain', 'stream'] as const
const priceLists = [
  ['a price of each class', separate],
  ['the prices of two families', byFamily],
] as const

describe.each(usageFormats)('usage of $name', (format) => {
  /** Gemini counts no tokens that are written to a cache: they are input. */
  const counted = (tokens: TokenClasses): TokenClasses =>
    format.api === 'Gemini' ? { ...tokens, cacheWrite: 0 } : tokens

  describe.each(modes)('%s', (mode) => {
    test.each(priceLists)(
      'times %s is the cost in header, ledger and receipt, by every API',
      async (_what, prices) => {
        const turns = counts.flatMap((tokens) => Object.values(clients).map((client) => ({ tokens, client })))
        const [first, ...rest] = turns.map(({ tokens }) => script(format, mode, format.usageOf(tokens)))
        if (first === undefined) throw new Error('there are counts')
        const served = await serve(format, prices, [first, ...rest])
        const shown: { id: string; costNano: bigint | undefined }[] = []
        for (const { client } of turns)
          shown.push(await costShown(served, mode, client.bodyOf(longPrompt), client))
        const books = await booksOf(served, turns.length)
        for (const [at, { id, costNano }] of shown.entries()) {
          const tokens = counted(turns[at]?.tokens ?? noTokens)
          const due = costOf(tokens, { id, ...prices })
          const booked: Partial<Booked> = books.get(id) ?? {}
          expect([costNano, booked.costNano]).toEqual([due, due])
          expect(booked.record).toMatchObject({ tokens, usageSource: 'provider' })
          const receipt = await receiptOf(served, id)
          expect(findRub(receipt.cost_rub)).toBe(due)
          expect(receipt).toMatchObject({ usage_source: 'provider', tokens: shownTokens(tokens) })
        }
      },
    )
  })
})

function shownTokens({ cachedInput, cacheWrite, ...same }: TokenClasses): object {
  return { cached_input: cachedInput, cache_write: cacheWrite, ...same }
}

const reported: TokenClasses = { input: 60, cachedInput: 30, cacheWrite: 0, output: 20, reasoning: 15 }
const estimated = (output: number) => ({
  usageSource: 'estimated',
  tokens: { ...noTokens, input: promptTokens, output },
  costNano: costOf({ ...noTokens, input: promptTokens, output }, { id: '', ...separate }),
})
const asReported = {
  usageSource: 'provider',
  tokens: reported,
  costNano: costOf(reported, { id: '', ...separate }),
}

const incomplete = usageFormats.flatMap((format) =>
  Object.values(clients).map((client) => ({ name: format.name, path: client.path, format, client })),
)

describe.each(incomplete)('an incomplete request at $name by $path', ({ format, client: ours }) => {
  const usage = format.usageOf(reported)
  const body = ours.bodyOf(prompt)

  /** A stream that waits for the test twice: before its content, and in it. */
  async function startWaiting(rest: readonly Step[]) {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const [first, second] = [{ until: gates[0].promise }, { until: gates[1].promise }]
    const steps = [...format.begin(usage), first, format.say(said[0]), second, format.say(said[1]), ...rest]
    const served = await serve(format, separate, [streamOf(...steps)])
    const streamed = { model: served.model, ...body, stream: true }
    const client = startChat(gateway, served.customer.key, streamed, {}, ours.path)
    await vi.waitFor(() => expect(served.server.requestsFor(format.modelId)).toHaveLength(1))
    return { served, client, open: gates.map(({ resolve }) => resolve) }
  }

  /** Until the gateway knows of it. */
  async function leave(client: LeavingClient): Promise<void> {
    client.leave()
    await client.ended
    await vi.waitFor(async () => expect(await readMetric(gateway, 'abandoned_requests')).toBe(1))
  }

  test.each([
    ['the usage at the end of its response', format.end(usage), asReported],
    ['prompt and received content without usage', format.end(undefined), estimated(saidTokens)],
  ] as const)('pays %s, if its client left before the content', async (_what, rest, owed) => {
    const { served, client, open } = await startWaiting(rest)
    await leave(client)
    for (const pass of open) pass()
    expect(await onlyBill(served)).toMatchObject({ ...owed, outcome: 'client_gone', status: 499 })
    expect(served.server.requests[0]?.state).toBe('answered')
  })

  test.each([
    ['the usage at the end of its response', format.end(usage), asReported],
    ['prompt and received content without usage', format.end(undefined), estimated(saidTokens)],
  ] as const)('pays %s, if its client left in the content', async (_what, rest, owed) => {
    const { served, client, open } = await startWaiting(rest)
    open[0]?.()
    await client.untilRead(said[0])
    await leave(client)
    open[1]?.()
    expect(await onlyBill(served)).toMatchObject({ ...owed, outcome: 'client_gone' })
    expect(served.server.requests[0]?.state).toBe('answered')
  })

  test('pays prompt and delivered content, if its provider cut the stream, whatever that had counted', async () => {
    const { served, client, open } = await startWaiting([{ waitMs: 100 }, { cut: 'fin' }])
    for (const pass of open) pass()
    await client.ended
    expect(client.text()).toContain(said[1])
    expect(client.text()).toContain(`"code":"${ours.cutCode}"`)
    expect(await onlyBill(served)).toMatchObject({ ...estimated(saidTokens), outcome: 'upstream_cut' })
  })

  test('pays nothing, if its provider cut the stream before the content', async () => {
    const served = await serve(format, separate, [streamOf(...format.begin(usage), { cut: 'fin' })])
    const streamed = { model: served.model, ...body, stream: true }
    const client = startChat(gateway, served.customer.key, streamed, {}, ours.path)
    await client.ended
    expect(client.status()).toBe(502)
    expect(await onlyBill(served)).toMatchObject({ costNano: 0n, usageSource: 'none', tokens: noTokens })
  })

  test.each(
    modes.flatMap(
      (mode) =>
        [
          [mode, 'no usage', undefined],
          [mode, 'a usage of zero', format.usageOf(noTokens)],
        ] as const,
    ),
  )('pays an estimate, if its response is whole (%s) and has %s', async (mode, _what, given) => {
    const served = await serve(format, separate, [script(format, mode, given)])
    const { costNano } = await costShown(served, mode, body, ours)
    const bill = await onlyBill(served)
    expect(bill).toMatchObject({ ...estimated(saidTokens), outcome: 'completed' })
    expect(costNano).toBe(bill.costNano)
  })
})

type Counts = Readonly<Record<string, number>>

/** Twenty turns at one provider: its counts, and its prices by its own page, in nano-rubles per token. */
type Conversation = {
  readonly api: UsageFormat['api']
  readonly prices: Prices
  readonly usageAt: (turn: number) => Counts
  readonly billOf: (usage: Counts) => number
}

const conversations: readonly Conversation[] = [
  {
    api: 'Anthropic',
    prices: {
      input: nanoRub(300_000n),
      cachedInput: nano(30_000n),
      cacheWrite: nano(375_000n),
      output: nanoRub(1_500_000n),
      reasoning: null,
      perRequest: nanoRub(0n),
    },
    usageAt: (turn) => ({
      input_tokens: 3,
      cache_read_input_tokens: 60 * turn,
      cache_creation_input_tokens: turn === 0 ? 40 : 60,
      output_tokens: 20 + turn,
    }),
    // A read is a tenth of the price, a write of five minutes 1.25 times the price.
    billOf: (usage) =>
      300_000 * (usage.input_tokens ?? 0) +
      (300_000 / 10) * (usage.cache_read_input_tokens ?? 0) +
      300_000 * 1.25 * (usage.cache_creation_input_tokens ?? 0) +
      1_500_000 * (usage.output_tokens ?? 0),
  },
  {
    api: 'Gemini',
    prices: {
      input: nanoRub(125_000n),
      cachedInput: nano(12_500n),
      cacheWrite: null,
      output: nanoRub(1_000_000n),
      reasoning: null,
      perRequest: nanoRub(0n),
    },
    usageAt: (turn) => ({
      promptTokenCount: 43 + 60 * turn,
      cachedContentTokenCount: 60 * turn,
      candidatesTokenCount: 20,
      thoughtsTokenCount: turn,
      totalTokenCount: 63 + 61 * turn,
    }),
    // The prompt includes its cached part, a tenth of the price; thoughts cost as much as output.
    billOf: (usage) =>
      125_000 * ((usage.promptTokenCount ?? 0) - (usage.cachedContentTokenCount ?? 0)) +
      (125_000 / 10) * (usage.cachedContentTokenCount ?? 0) +
      1_000_000 * ((usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)),
  },
]

/** The messages of a turn: all before it, and a mark for the cache at the newest. */
function conversationAt(turn: number): readonly object[] {
  const text = { type: 'text', text: 'x'.repeat(200) }
  const marked = { ...text, cache_control: { type: 'ephemeral' } }
  const earlier = Array.from({ length: turn }, () => [
    { role: 'user', content: [text] },
    { role: 'assistant', content: said.join('') },
  ])
  return [...earlier.flat(), { role: 'user', content: [marked] }]
}

describe.each(conversations)(
  'a conversation of 20 cached turns at $api',
  ({ api, prices, usageAt, billOf }) => {
    // Conversations with marks for a cache are written alike in both.
    const ways = modes.flatMap((mode) => (['chat', 'messages'] as const).map((name) => [mode, name] as const))

    test.each(ways)("costs as much as the provider's own bill (%s, %s)", async (mode, name) => {
      const format = usageFormats.find((known) => known.name === api)
      const usages = Array.from({ length: 20 }, (_, turn) => usageAt(turn))
      if (format === undefined) throw new Error('the format is known')
      const [first, ...rest] = usages.map((usage) => script(format, mode, usage))
      if (first === undefined) throw new Error('there are turns')
      const served = await serve(format, prices, [first, ...rest])
      const shown: { readonly id: string; readonly costNano: bigint | undefined }[] = []
      for (const turn of usages.keys())
        shown.push(
          await costShown(served, mode, { messages: conversationAt(turn), max_tokens: 1_000 }, clients[name]),
        )
      const books = [...(await booksOf(served, usages.length)).values()]
      const receipts = await Promise.all(shown.map(({ id }) => receiptOf(served, id)))
      const bill = usages.reduce((sum, usage) => sum + billOf(usage), 0)
      const sumOf = (costs: readonly (bigint | undefined)[]) =>
        Number(costs.reduce<bigint>((sum, cost) => sum + (cost ?? 0n), 0n))
      expect(sumOf(shown.map(({ costNano }) => costNano))).toBe(bill)
      expect(sumOf(books.map(({ costNano }) => costNano))).toBe(bill)
      expect(sumOf(receipts.map(({ cost_rub }) => findRub(cost_rub)))).toBe(bill)
      expect(served.server.requests.map(({ fault }) => fault)).toEqual(usages.map(() => undefined))
    })
  },
)
