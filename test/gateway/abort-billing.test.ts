import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { noTokens } from '#core/ledger/price'
import {
  asReported,
  type BilledChat,
  due,
  expectComplete,
  expectErrorFrame,
  messages,
  nothing,
  ofPrompt,
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
import type { ModelFields } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import { startChat } from '../support/leaving-client.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { type CustomerOptions, stackOfThisFile, untilServed } from '../support/stack.ts'
import { goodStream, plain, type Script, type Step, streamed, streamHeaders } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
let gateway: Process
/** A provider that stops generating when its connection is closed, and sends no bill. */
let closing: string

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  closing = await stack.createProvider({ baseUrl: stack.upstream.url, quirks: 'vllm' })
  const made = await chat(streamed(['Hello'], { usage: null }))
  await made.client.ended // the thread runs from here on, and Redis knows every script
  await booked(made)
})

type Ask = NonNullable<Parameters<typeof startBilledChat>[3]> & { readonly at?: Process }

const chat = (script: Script, { at = gateway, ...ask }: Ask = {}) => startBilledChat(stack, at, script, ask)
const booked = (customer: Customer) => onlyBill(stack, view, customer)

/** One request to a model that does not reason unseen, where closing the connection ends generation and bill. */
function chatWhereClosed(script: Script, ask: Ask = {}): Promise<BilledChat> {
  const model = `test/closed-${randomBytes(6).toString('hex')}`
  const backends = [{ name: 'main', provider: closing, model, priority: 0, weight: 1 }]
  return chat(script, { ...ask, fields: { model, backends, hiddenReasoning: false, ...ask.fields } })
}

const { say, finish, usage, done } = goodStream
/** One request that is asked of a second provider once the first, which answers `bad`, was given up. */
function chatAfter(
  bad: Script,
  good: Script,
  silentMs = 5_000,
  headers: Record<string, string> = {},
): Promise<BilledChat> {
  const model = `test/two-${randomBytes(6).toString('hex')}`
  const backend = { provider: 'scripted', weight: 1 }
  const backends = [
    { ...backend, name: 'first', model: `${model}-first`, priority: 0 },
    { ...backend, name: 'second', model, priority: 1 },
  ]
  stack.upstream.answer(`${model}-first`, bad)
  const timeouts = { requestMs: 20_000, firstByteMs: silentMs, streamIdleMs: silentMs }
  return chat(good, { fields: { model, backends, timeouts, attempts: 2 }, headers })
}

const sayAll = said.map(say)
/** A reset takes with it whatever the gateway has not read yet. */
const resetLater: readonly Step[] = [{ waitMs: 300 }, { cut: 'reset' }]

/** Resolves once the gateway has read the provider's 2xx status: each renewal reports it to Redis. */
async function untilAnswered({ organizationId }: Customer): Promise<void> {
  await vi.waitFor(
    async () => expect((await view.sweepable(organizationId))[0]?.record.modelRan).toBeTruthy(),
    { timeout: 10_000, interval: 20 },
  )
}

function journalOf({ model }: BilledChat) {
  const request = stack.upstream.requestsFor(model).at(-1)
  if (request === undefined) throw new Error('the provider was not asked')
  return request
}

/** Milliseconds until the gateway closed its connection to the provider. */
async function msUntilCancelled(of: BilledChat, leftAtMs: number): Promise<number> {
  await vi.waitFor(() => expect(journalOf(of).state).toBe('left'), { timeout: 10_000, interval: 5 })
  return (journalOf(of).endedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs
}

/** An answer that JSON can say and that most writers of JSON cannot write. */
function deepAnswer(said: 'message' | 'delta'): string {
  const annotations = `[{"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}]`
  return `{"choices":[{"index":0,"${said}":{"content":"Hello","annotations":${annotations}},"finish_reason":null}]}`
}

describe('nothing is charged for', () => {
  test('a non-streaming answer that is nested deeper than 200: it is a bad answer', async () => {
    const made = await chat({ steps: [{ send: deepAnswer('message') }] }, { body: { stream: false } })
    await made.client.ended
    expect(made.client.status()).toBe(502)
    const record = await booked(made)
    expect(record).toMatchObject({ ...nothing, outcome: 'failed', attempts: ['malformed_answer'] })
  })

  test('a request refused before a provider was called; it uses no RPM and leaves no record', async () => {
    const options: CustomerOptions = { rpm: 5, allowedModels: ['test/another'] }
    const model = await stack.createModel()
    const customer = await stack.createCustomer(options)
    await untilServed(gateway, customer.key, model)
    for (let n = 0; n < 7; n += 1) {
      const client = startChat(gateway, customer.key, { model, messages })
      expect(await client.ended).toBe('whole')
      expect(client.status()).toBe(403) // not 429
    }
    expect(await settledBooks(stack, view, customer.organizationId, { requests: 0 })).toEqual(new Map())
    expect(stack.upstream.requestsFor(model)).toHaveLength(0)
  })

  test.each([true, false])('a request that no provider answered 2xx (stream: %s)', async (streaming) => {
    const failing = { status: 500, steps: [{ send: '{"error":{"message":"boom"}}' }] }
    const made = await chat(failing, { body: { stream: streaming } })
    await made.client.ended
    expect(made.client.status()).toBe(502)
    expect(await booked(made)).toMatchObject({ ...nothing, outcome: 'failed', status: 502 })
  })

  const cut: Step = { cut: 'fin' }
  test.each<[string, Script, string]>([
    ['silent before its headers', { silentMs: 'forever' }, 'first_byte_timeout'],
    ['stalled before its content', streamOf({ stall: true }), 'idle_timeout'],
    ['cut before its content', streamOf(cut), 'cut'],
    ['reset before its content', streamOf({ cut: 'reset' }), 'cut'],
    [
      'an error in place of content',
      streamOf({ event: { error: { message: 'x', code: 500 } } }),
      'error_event',
    ],
    ['no JSON', streamOf({ event: '{"choices":' }), 'malformed_chunk'],
    ['nested deeper than 200', streamOf({ event: deepAnswer('delta') }), 'malformed_chunk'],
    ['an end without content', { headers: streamHeaders, steps: [usage(reported), done] }, 'empty_answer'],
    ['no stream at all', plain('Hello'), 'no_event_stream'],
  ])('an attempt that was %s, when another succeeded', async (_how, script, result) => {
    const made = await chatAfter(script, streamed(said, { usage: reported }), 300)
    expect(await made.client.ended).toBe('whole')
    expect(made.client.text()).toMatch(/data: \[DONE\]\n\n$/)
    const record = await booked(made)
    expect(record).toMatchObject({ ...asReported, outcome: 'completed', attempts: [result, 'answered'] })
  })

  test.each([true, false])(
    'a request whose provider answered with an error, whatever time its caller gave it (stream: %s)',
    async (streaming) => {
      const failing = { status: 500, steps: [{ send: '{"error":{"message":"boom"}}' }] }
      const hurried = { 'x-gateway-timeout-ms': '2000' }
      const made = await chat(failing, { body: { stream: streaming }, headers: hurried })
      await made.client.ended
      expect(await booked(made)).toMatchObject({ ...nothing, outcome: 'failed', status: 502 })
    },
  )

  test.each([true, false])(
    'a request whose provider was silent for as long as its route allows (stream: %s)',
    async (streaming) => {
      const timeouts = { requestMs: 600, firstByteMs: 500, streamIdleMs: 500 }
      const made = await chat(
        { silentMs: 'forever' },
        {
          body: { stream: streaming },
          headers: { 'x-gateway-timeout-ms': '20000' },
          fields: { timeouts },
        },
      )
      await made.client.ended
      expect(made.client.text()).toContain('Nothing was charged')
      expect(await booked(made)).toMatchObject({ ...nothing, outcome: 'failed', status: 504 })
    },
  )
})

/** Tokens that count in the TPM of a key now. */
async function tokensUsed({ key }: Customer): Promise<unknown> {
  const answer = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } })
  const { tpm } = (await answer.json()) as { readonly tpm: { readonly used: number } }
  return tpm.used
}

describe('the prompt, which a provider had, is charged, estimated, and counts in TPM, of', () => {
  test.each([true, false])('a client that left before it answered (stream: %s)', async (streaming) => {
    const made = await chatWhereClosed({ silentMs: 'forever' }, { body: { stream: streaming } })
    await vi.waitFor(() => expect(stack.upstream.requestsFor(made.model)).toHaveLength(1))
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(1000)
    expect(await booked(made)).toMatchObject({ ...ofPrompt, outcome: 'client_gone', status: 499 })
    expect(await tokensUsed(made)).toBe(promptTokens)
  })

  test.each<[string, boolean, Script]>([
    ['and its provider was silent, plain', false, { silentMs: 'forever' }],
    ['and its provider had sent no content, streamed', true, streamOf({ stall: true })],
    [
      'and its provider had sent half an answer, plain',
      false,
      { steps: [{ send: '{"id":' }, { stall: true }] },
    ],
  ])('a request whose caller gave it too little time %s', async (_how, streaming, script) => {
    const headers = { 'x-gateway-timeout-ms': '400' }
    const made = await chat(script, { body: { stream: streaming }, headers, fields: { timeouts: short } })
    expect(await made.client.ended).toBe('whole')
    expect(made.client.status()).toBe(504)
    expect(made.client.text()).toContain('its response is charged once it is complete')
    expect(await booked(made)).toMatchObject({ ...ofPrompt, outcome: 'failed', status: 504 })
    expect(await tokensUsed(made)).toBe(promptTokens)
  })
})

/** Of a route, in ms. */
const short = { requestMs: 2_000, firstByteMs: 1_000, streamIdleMs: 1_000 }

describe('nothing is charged where no provider answered, although no client waited any more, of', () => {
  test('a request whose caller gave two providers half of too little time each', async () => {
    const made = await chatAfter({ silentMs: 'forever' }, { silentMs: 'forever' }, 1_000, {
      'x-gateway-timeout-ms': '600',
    })
    await made.client.ended
    expect(made.client.status()).toBe(504)
    const record = await booked(made)
    expect(record).toMatchObject({ ...nothing, outcome: 'failed', status: 504 })
    expect(record.attempts).toHaveLength(2)
  })

  test('a client that left while a second provider was silent, after the first had answered 2xx with nothing', async () => {
    const bad = streamOf({ event: { error: { message: 'x', code: 500 } } })
    const made = await chatAfter(bad, { silentMs: 'forever' }, 1_000)
    made.client.leave()
    const attempts = ['error_event', 'first_byte_timeout']
    expect(await booked(made)).toMatchObject({ ...nothing, outcome: 'client_gone', attempts })
  })

  test.each([true, false])(
    'a client that left before its provider failed (stream: %s)',
    async (streaming) => {
      const made = await chat({ status: 500, silentMs: 500, steps: [] }, { body: { stream: streaming } })
      await vi.waitFor(() => expect(stack.upstream.requestsFor(made.model)).toHaveLength(1))
      made.client.leave()
      expect(await booked(made)).toMatchObject({ ...nothing, outcome: 'client_gone', status: 499 })
    },
  )
})

describe('an answer that no client waits for is read to its end, and charged by its usage, of', () => {
  const later = (script: Script): Script => ({ ...script, silentMs: 400 })

  test.each([
    ['plain', false, later(plain('Hello', { usage: reported }))],
    ['streamed', true, later(streamed(said, { usage: reported }))],
  ] as const)('a client that left before it began (%s)', async (_mode, streaming, script) => {
    const made = await chat(script, { body: { stream: streaming } })
    await vi.waitFor(() => expect(stack.upstream.requestsFor(made.model)).toHaveLength(1))
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'client_gone', status: 499 })
    expect(journalOf(made).state).toBe('answered')
  })

  test.each([
    ['plain', false, later(plain('Hello', { usage: reported }))],
    ['streamed', true, later(streamed(said, { usage: reported }))],
  ] as const)('a caller that gave it too little time (%s)', async (_mode, streaming, script) => {
    const headers = { 'x-gateway-timeout-ms': '200' }
    const made = await chat(script, { body: { stream: streaming }, headers })
    expect(await made.client.ended).toBe('whole')
    expect(made.client.status()).toBe(504)
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'failed', status: 504 })
  })

  test('a client that left at a provider that stops when it is closed, whose model may have reasoned unseen', async () => {
    const script = streamOf(...sayAll, { waitMs: 300 }, finish(), usage(reported), done)
    const made = await chatWhereClosed(script, { fields: { hiddenReasoning: true } })
    await made.client.untilRead(said[1])
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'client_gone' })
  })

  test('no more than a quarter of a gateway: then its key waits, and no other one', async () => {
    // Four of sixteen, of which one organization may have two.
    const small = await stack.startGateway({ ...patient, GATEWAY_CONNECTIONS_MAX: '16' })
    const model = await stack.createModel(prices)
    const customers = await Promise.all([0, 1, 2].map(() => stack.createCustomer()))
    for (const { key } of customers) await untilServed(small, key, model)
    const [first, second, other] = customers
    if (!first || !second || !other) throw new Error('customers are missing')
    let goOn: (value?: unknown) => void = () => undefined
    const until = new Promise((resolve) => {
      goOn = resolve
    })
    const { steps = [], ...rest } = plain('Hello', { usage: reported })
    const asked = stack.upstream.requestsFor(model).length
    stack.upstream.answer(model, { ...rest, steps: [{ until }, ...steps] })
    const leavers = [first, first, second, second].map(({ key }) =>
      startChat(small, key, { model, messages }),
    )
    await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(asked + 4))
    for (const client of leavers) client.leave()
    await vi.waitFor(async () => expect(await readMetric(small, 'abandoned_requests')).toBe(4))
    stack.upstream.answer(model, plain('Hello', { usage: reported }))
    const statusOf = async ({ key }: Customer) => {
      const client = startChat(small, key, { model, messages })
      await client.ended
      return client.status()
    }
    expect([await statusOf(first), await statusOf(second), await statusOf(other)]).toEqual([429, 429, 200])
    goOn()
    await vi.waitFor(async () => expect(await readMetric(small, 'abandoned_requests')).toBe(0))
    expect(await statusOf(first)).toBe(200)
  })
})

describe('a client that left after a provider had answered that stops when it is closed', () => {
  test('and before the first content pays the prompt, estimated, and the call is cancelled at once', async () => {
    const made = await chatWhereClosed(streamOf({ stall: true }))
    await untilAnswered(made)
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(1000)
    expect(await booked(made)).toMatchObject({ ...ofPrompt, outcome: 'client_gone', firstContentMs: null })
  })

  test('and before the first content pays the provider’s usage if it came', async () => {
    const made = await chatWhereClosed(
      streamOf(usage({ prompt_tokens: 7, completion_tokens: 0 }), { stall: true }),
    )
    await untilAnswered(made)
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...due('provider', 7, 0), outcome: 'client_gone' })
  })

  test('and before its non-streaming answer was whole pays the prompt, estimated', async () => {
    const steps = [{ send: '{"id":"x","choices":[{"message":{"content":"half of' }, { stall: true }] as const
    const made = await chatWhereClosed({ steps }, { body: { stream: false } })
    await untilAnswered(made)
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(1000)
    expect(await booked(made)).toMatchObject({ ...ofPrompt, outcome: 'client_gone', status: 499 })
  })

  test('in the middle of its content pays prompt and delivered text, and the call is cancelled at once', async () => {
    const made = await chatWhereClosed(streamOf(...sayAll, { stall: true }))
    await made.client.untilRead(said[1])
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(1000)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone', status: 499 })
  })

  test('in the middle of reasoning and of a tool call pays for both, reasoning as its own class', async () => {
    const thought = goodStream.delta({ reasoning_content: 'Let me think.' }) // 4 tokens
    const call = { name: 'get_weather', arguments: '{"city":"Paris"}' } // 7 tokens together
    const calls = goodStream.delta({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: call }] })
    const made = await chatWhereClosed(streamOf(thought, calls, { stall: true }))
    await made.client.untilRead('Paris')
    made.client.leave()
    const { costNano, tokens } = await booked(made)
    expect(tokens).toEqual({ ...noTokens, input: promptTokens, output: 7, reasoning: 4 })
    expect(costNano).toBe(BigInt(promptTokens) * prices.inputNano + 11n * prices.outputNano)
  })

  test('pays the usage that came with its last content', async () => {
    const counted = { event: { ...eventOf(say(said[1])), usage: reported } }
    const made = await chat(streamOf(say(said[0]), counted, { stall: true }))
    await made.client.untilRead(said[1])
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'client_gone' })
  })

  test('does not pay by usage that came before more content: it does not count all delivered content', async () => {
    const early = usage({ prompt_tokens: 7, completion_tokens: 0 })
    const made = await chat(streamOf(early, ...sayAll, { stall: true }))
    await made.client.untilRead(said[1])
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone' })
  })

  test('after the finish reason pays the usage that comes within 2 s', async () => {
    const made = await chat(streamOf(...sayAll, finish(), { waitMs: 500 }, usage(reported), done))
    await made.client.untilRead('"finish_reason":"stop"')
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'client_gone' })
    expect(journalOf(made).state).toBe('answered')
  })

  test.each<[string, Step]>([
    ['is cut', { cut: 'reset' }],
    ['breaks off with an error', { event: { error: { message: 'x', code: 500 } } }],
  ])('after the finish reason, and whose provider then %s, has left all the same', async (_how, broken) => {
    const made = await chat(streamOf(...sayAll, finish(), { waitMs: 500 }, broken))
    await made.client.untilRead('"finish_reason":"stop"')
    made.client.leave()
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone', status: 499 })
  })

  test('after the finish reason pays prompt and delivered text when no usage comes; 2 s later the wait ends', async () => {
    const made = await chat(streamOf(...sayAll, finish(), { stall: true }))
    await made.client.untilRead('"finish_reason":"stop"')
    const leftAtMs = performance.now()
    made.client.leave()
    const cancelledMs = await msUntilCancelled(made, leftAtMs)
    expect(cancelledMs).toBeGreaterThan(1500)
    expect(cancelledMs).toBeLessThan(5500)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone' })
  })

  test('between two choices pays prompt and delivered text, and the call is cancelled at once: more would come', async () => {
    const made = await chatWhereClosed(streamOf(...sayAll, finish(), { stall: true }), { body: { n: 2 } })
    await made.client.untilRead('"finish_reason":"stop"')
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(1000)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone' })
  })

  const count = { prompt_tokens: 7, completion_tokens: 4_000, total_tokens: 4_007 }
  test.each<[string, Ask, readonly Step[]]>([
    ['whose model says nothing of its reasoning', {}, []],
    ['whose reasoning was seen in part', {}, [goodStream.delta({ reasoning_content: 'Hm.' })]],
    [
      'whose provider adds to its prompt',
      { body: { messages: [{ role: 'user', content: 'Hi', files: [] }] } },
      [],
    ],
  ])('%s, pays the usage at the end of its answer, which is read without it', async (_how, ask, first) => {
    let goOn = () => {}
    const until = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const rest: readonly Step[] = [{ until }, say(said[1]), { waitMs: 100 }, finish(), usage(count), done]
    const made = await chat(streamOf(...first, say(said[0]), ...rest), ask)
    await made.client.untilRead(said[0])
    made.client.leave()
    await made.client.ended
    goOn()
    expect(await booked(made)).toMatchObject({ ...due('provider', 7, 4_000), outcome: 'client_gone' })
    expect(journalOf(made).state).toBe('answered')
  })

  test('and whose provider then breaks off pays for what came; the attempt was cut, as with a client', async () => {
    let goOn = () => {}
    const until = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const made = await chat(streamOf(...sayAll, { until }, ...resetLater))
    await made.client.untilRead(said[1])
    made.client.leave()
    await made.client.ended
    goOn()
    expect(await booked(made)).toMatchObject({
      ...ofPromptAndSaid,
      outcome: 'client_gone',
      status: 499,
      attempts: ['cut'],
    })
  })

  test('and where only usage decides is read no longer than its deadline', async () => {
    const timeouts = { requestMs: 1_500, firstByteMs: 5_000, streamIdleMs: 5_000 }
    const made = await chat(streamOf(...sayAll, { stall: true }), { fields: { timeouts } })
    await made.client.untilRead(said[1])
    const leftAtMs = performance.now()
    made.client.leave()
    expect(await msUntilCancelled(made, leftAtMs)).toBeLessThan(2_500)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone' })
  })

  test.each<[string, object]>([
    ['annotations', { annotations: [{ type: 'url_citation', url_citation: { title: said.join('') } }] }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: said.join('') }] }],
    ['refusal', { refusal: said.join('') }],
    ['the transcript of its sound', { audio: { id: 'a', transcript: said.join('') } }],
  ])('pays for the text in %s', async (_field, delta) => {
    const made = await chat(streamOf(goodStream.delta(delta), ...resetLater))
    await made.client.ended
    const { costNano, tokens } = await booked(made)
    expect(tokens.output + tokens.reasoning).toBe(saidTokens)
    expect(costNano).toBe(ofPromptAndSaid.costNano)
  })

  test('is charged by a gateway that is stopped at that moment', async () => {
    const stopping = await stack.startGateway(patient)
    const made = await chat(streamOf(...sayAll, { stall: true }), { at: stopping })
    await made.client.untilRead(said[1])
    made.client.leave()
    await stopping.stop()
    expect(stopping.exitCode()).toBe(0)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'client_gone' })
  })
})

describe('a stream that its provider broke off is charged prompt and delivered text, and ends with an error frame when it', () => {
  const dirty = { error: { message: 'overloaded', type: 'server_error', code: null } }
  test.each<[string, readonly Step[], string]>([
    ['was closed', [{ cut: 'fin' }], 'cut'],
    ['was reset', resetLater, 'cut'],
    ['ended without finish reason and [DONE]', [], 'cut'],
    ['ended so after a count', [usage(reported)], 'cut'],
    ['had an error event', [{ event: dirty }], 'error_event'],
    ['had nonsense in it', [{ event: '{"choices":[' }, done], 'malformed_chunk'],
  ])('%s', async (_how, steps, result) => {
    const made = await chat(streamOf(...sayAll, ...steps))
    await made.client.ended
    expectErrorFrame(made.client.text(), 'upstream_error')
    const record = await booked(made)
    expect(record).toMatchObject({
      ...ofPromptAndSaid,
      outcome: 'upstream_cut',
      status: 200,
      errorCode: 'upstream_error',
      attempts: [result],
    })
  })

  test.each<[string, ModelFields['timeouts'], Record<string, string>, string]>([
    ['fell silent', { requestMs: 30_000, firstByteMs: 5_000, streamIdleMs: 400 }, {}, 'idle_timeout'],
    [
      'passed the deadline of its route',
      { requestMs: 800, firstByteMs: 5_000, streamIdleMs: 5_000 },
      {},
      'deadline',
    ],
    [
      'passed the deadline of its caller',
      { requestMs: 30_000, firstByteMs: 5_000, streamIdleMs: 1_500 },
      { 'x-gateway-timeout-ms': '800' },
      'idle_timeout', // it was read on until its provider fell silent
    ],
  ])('%s: upstream_timeout', async (_how, timeouts, headers, result) => {
    const made = await chat(streamOf(...sayAll, { stall: true }), {
      fields: timeouts === undefined ? {} : { timeouts },
      headers,
    })
    await made.client.ended
    expectErrorFrame(made.client.text(), 'upstream_timeout')
    const record = await booked(made)
    const ending = { outcome: 'upstream_cut', errorCode: 'upstream_timeout', attempts: [result] }
    expect(record).toMatchObject({ ...ofPromptAndSaid, ...ending })
  })
})

describe('a stream whose content is whole', () => {
  test.each<[string, readonly Step[], object]>([
    ['cut after the finish reason, without usage', [finish(), ...resetLater], ofPromptAndSaid],
    ['cut after usage', [finish(), usage(reported), ...resetLater], asReported],
    ['ended by [DONE] alone, without a finish reason', [done], ofPromptAndSaid],
    ['ended by usage and [DONE], without a finish reason', [usage(reported), done], asReported],
    ['never ended after [DONE]', [finish(), usage(reported), done, { stall: true }], asReported],
  ])('is complete and charged when it was %s', async (_how, steps, owed) => {
    const startedAtMs = performance.now()
    const made = await chat(streamOf(...sayAll, ...steps))
    await made.client.ended
    expectComplete(made.client.text())
    expect(await booked(made)).toMatchObject({ ...owed, outcome: 'completed' })
    expect(performance.now() - startedAtMs).toBeLessThan(5_000)
  })

  test.each<[string, readonly Step[], object]>([
    ['nothing more came', [], ofPromptAndSaid],
    ['only usage came', [usage(reported)], asReported],
  ])('and whose provider never closes it ends 2 s after the finish reason; %s', async (_how, steps, owed) => {
    const made = await chat(streamOf(...sayAll, finish(), ...steps, { stall: true }))
    await made.client.untilRead('"finish_reason":"stop"')
    const finishedAtMs = performance.now()
    expect(await made.client.ended).toBe('whole')
    const waitedMs = performance.now() - finishedAtMs
    expect(waitedMs).toBeGreaterThan(1500)
    expect(waitedMs).toBeLessThan(4500) // its idle timeout is 5 s
    expectComplete(made.client.text())
    expect(await booked(made)).toMatchObject({ ...owed, outcome: 'completed' })
    expect(await msUntilCancelled(made, finishedAtMs)).toBeLessThan(7_000)
  })
})

function eventOf(step: Step): object {
  if (!('event' in step) || typeof step.event === 'string') throw new Error('no event')
  return step.event
}

describe('a stream of two choices, the first of which has ended,', () => {
  const first = [say(said[0]), finish()]
  const second = goodStream.delta({ content: said[1] }, { index: 1 })
  const rest = [goodStream.delta({}, { index: 1, finish_reason: 'stop' }), usage(reported), done]
  const twoOf = (...steps: readonly Step[]) => chat(streamOf(...first, ...steps), { body: { n: 2 } })

  test.each<[string, readonly Step[]]>([
    ['begins', [{ waitMs: 2_500 }, second]],
    ['goes on', [{ waitMs: 500 }, second, { waitMs: 2_000 }]],
  ])('is whole although the second %s longer than usage is waited for', async (_how, steps) => {
    const made = await twoOf(...steps, ...rest)
    expect(await made.client.ended).toBe('whole')
    expectComplete(made.client.text())
    expect(made.client.text().match(/"finish_reason":"stop"/g)).toHaveLength(2)
    expect(await booked(made)).toMatchObject({ ...asReported, outcome: 'completed' })
  })

  test('is complete when its provider knows of one only, and then sends nothing more', async () => {
    const timeouts = { requestMs: 30_000, firstByteMs: 5_000, streamIdleMs: 500 }
    const made = await chat(streamOf(...sayAll, finish(), { stall: true }), {
      body: { n: 2 },
      fields: { timeouts },
    })
    expect(await made.client.ended).toBe('whole')
    expectComplete(made.client.text())
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'completed' })
  })

  test('is cut, not complete, when its provider breaks off before the second', async () => {
    const made = await chat(streamOf(...sayAll, finish(), ...resetLater), { body: { n: 2 } })
    await made.client.ended
    expect(made.client.text()).toMatch(/"code":"upstream_error".*\n\n$/)
    expect(await booked(made)).toMatchObject({ ...ofPromptAndSaid, outcome: 'upstream_cut' })
  })
})
