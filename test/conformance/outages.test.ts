import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import { prices, said } from '../support/billed-chat.ts'
import type { Customer } from '../support/customer.ts'
import { type LeavingClient, startChat } from '../support/leaving-client.ts'
import { expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { patientCounting } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { expectStream, readEvents } from '../support/response-events.ts'
import { type Booked, settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile, untilListed } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { streamHeaders } from '../support/upstream.ts'
import type { FaultyApi, SpokenStep, WrittenStep } from './fault-cases.ts'
import { type ClientName, faultClients, type Mode } from './fault-clients.ts'
import { scriptOf } from './fault-scripts.ts'
import { faultServersOfThisFile } from './fault-servers.ts'

/** Clients whose API is relayed, and those whose requests are translated. */
const pairs: readonly (readonly [client: ClientName, api: FaultyApi])[] = [
  ['chat', 'Responses'],
  ['responses', 'Responses'],
  ['responses', 'Anthropic'],
  ['messages', 'Anthropic'],
  ['messages', 'Responses'],
]
const outages = ['stopped', 'killed early', 'killed in the content', 'killed at the end', 'frozen'] as const
type Outage = (typeof outages)[number]
const modes = ['stream', 'plain'] as const
const nameOf = (outage: Outage, [client]: (typeof pairs)[number], mode: Mode) =>
  `${outage.replaceAll(' ', '-')}-${client}-${mode}`

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const servers = await faultServersOfThisFile(
  stack,
  outages.flatMap((outage) =>
    pairs.flatMap((pair) => modes.map((mode) => ({ api: pair[1], name: nameOf(outage, pair, mode) }))),
  ),
)

beforeAll(async () => {
  await stack.startWorker()
})

/** A request in progress. */
type Running = {
  readonly name: ClientName
  readonly mode: Mode
  readonly model: string
  readonly client: LeavingClient
}
type Begun = { readonly customer: Customer; readonly running: readonly Running[]; readonly goOn: () => void }

/** Of the 10 and 5 tokens that providers report. */
const wholeCost = 10n * prices.inputNano + 5n * prices.outputNano
const text = said.join('')
/** On a busy machine a lease of 1 s ends before its response. */
const longLease = { LEASE_MS: '20000' }

/** A request of each pair, and each mode, to its own new model, whose provider has begun, and waits. */
async function begin(
  gateway: Process,
  outage: Outage,
  content: 'no content' | 'content',
  asked: readonly Mode[] = ['stream'],
): Promise<Begun> {
  const customer = await stack.createCustomer({ rpm: 1_000 })
  let goOn = () => {}
  const until = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const [first, second] = said.map((say): SpokenStep => ({ say }))
  if (first === undefined || second === undefined) throw new Error('there are two pieces')
  const head = content === 'content' ? [{ role: true } as const, first] : [{ role: true } as const]
  const rest: readonly WrittenStep[] = [second, { finish: 'stop', usage: true }, { done: true }]
  const written: Readonly<Record<Mode, readonly WrittenStep[]>> = {
    stream: [...head, { until }, ...rest],
    plain: [{ until }, { plain: text }],
  }
  const made = await Promise.all(
    pairs.flatMap((pair) =>
      asked.map(async (mode) => {
        const [name, api] = pair
        const headers = mode === 'stream' ? { headers: streamHeaders } : {}
        const place = { api, name: nameOf(outage, pair, mode) }
        const model = await servers.createModel(
          place,
          scriptOf(api, { ...headers, steps: written[mode] }, 'whole'),
          prices,
        )
        return { name, mode, model, place }
      }),
    ),
  )
  await untilListed(
    gateway,
    customer.key,
    made.map(({ model }) => model),
  )
  const running = made.map(({ name, mode, model }) => {
    const { path, bodyOf } = faultClients[name]
    return { name, mode, model, client: startChat(gateway, customer.key, bodyOf(model, mode), {}, path) }
  })
  await vi.waitFor(
    () => {
      for (const { place } of made) expect(servers.requestsFor(place)).toHaveLength(1)
    },
    { timeout: 20_000 },
  )
  if (content === 'content')
    for (const { mode, client } of running) if (mode === 'stream') await client.untilRead(said[0])
  return { customer, running, goOn }
}

type Options = NonNullable<Parameters<typeof settledBooks>[3]>

/** By the model that was asked for. */
async function booksOf(
  { customer, running }: Begun,
  options: Options = {},
): Promise<ReadonlyMap<string, Booked>> {
  const books = await settledBooks(stack, view, customer.organizationId, {
    requests: running.length,
    ...options,
  })
  return new Map([...books.values()].map((booked) => [booked.record.modelAsked, booked]))
}

function expectWhole({ name, mode, model, client }: Running, booked: Booked | undefined): void {
  const answer = { status: client.status(), headers: client.headers(), text: client.text() }
  faultClients[name].expectAnswer(mode, answer, { model, text })
  expect(findRub(/"cost_rub":"([\d.]+)"/.exec(answer.text)?.[1] ?? '')).toBe(wholeCost)
  expect(booked).toMatchObject({
    costNano: wholeCost,
    chargeRows: 1,
    record: { outcome: 'completed', usageSource: 'provider' },
  })
}

test('a gateway that is stopped ends its streams as their clients expect, and charges them', async () => {
  const gateway = await stack.startGateway({ ...patientCounting, ...longLease })
  const begun = await begin(gateway, 'stopped', 'content')
  const stopped = gateway.stop()
  await vi.waitFor(async () => expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503))
  begun.goOn()
  await stopped
  expect(gateway.exitCode()).toBe(0)
  const books = await booksOf(begun)
  for (const request of begun.running) {
    expect(await request.client.ended).toBe('whole')
    expectWhole(request, books.get(request.model))
  }
})

/** What a sweep would charge for each model's request, once all of them are recorded as `isRecorded`. */
function untilRecorded({ customer, running }: Begun, isRecorded: (costNano: bigint) => boolean) {
  return vi.waitFor(
    async () => {
      const holds = await view.sweepable(customer.organizationId)
      const recorded = holds.filter(
        ({ costNano, record }) => record.modelRan !== null && isRecorded(costNano),
      )
      expect(recorded).toHaveLength(running.length)
      return new Map(recorded.map(({ costNano, record }) => [record.modelAsked, costNano]))
    },
    { timeout: 10_000, interval: 20 },
  )
}

test('a gateway that is killed before the content charges nothing', async () => {
  const gateway = await stack.startGateway()
  const begun = await begin(gateway, 'killed early', 'no content')
  await untilRecorded(begun, (costNano) => costNano === 0n)
  await gateway.kill()
  const books = await booksOf(begun, { held: 'rest' })
  for (const { model, client } of begun.running) {
    expect(await client.ended).toBe('cut')
    expect(books.get(model)).toMatchObject({
      costNano: 0n,
      chargeRows: 0,
      record: { outcome: 'swept', usageSource: 'none' },
    })
  }
})

test('a gateway that is killed in the content charges what its leases recorded, once', async () => {
  const gateway = await stack.startGateway()
  const begun = await begin(gateway, 'killed in the content', 'content')
  const recorded = await untilRecorded(begun, (costNano) => costNano > 0n)
  await gateway.kill()
  const books = await booksOf(begun, { held: 'rest' })
  for (const { model, client } of begun.running) {
    expect(await client.ended).toBe('cut')
    const { costNano, chargeRows, record } = books.get(model) ?? expect.fail('nothing was booked')
    expect([costNano, chargeRows]).toEqual([recorded.get(model), 1])
    expect(record).toMatchObject({ outcome: 'swept', usageSource: 'estimated' })
    const { input, output } = record.tokens
    expect(output).toBeGreaterThan(0)
    expect(costNano).toBe(BigInt(input) * prices.inputNano + BigInt(output) * prices.outputNano)
  }
})

test('a gateway that is killed between charge and last byte leaves the charge as it is', async () => {
  const gate = await gateOfThisTest(stack.redis.port)
  const own = { REDIS_URL: redisUrlOf.gateway(`redis://127.0.0.1:${gate.port}`), ...longLease }
  const gateway = await stack.startGateway(own)
  const begun = await begin(gateway, 'killed at the end', 'content')
  gate.holdAnswers()
  begun.goOn()
  await vi.waitFor(
    async () => {
      const { records } = await stack.readBooks(begun.customer.organizationId)
      expect([...records.values()].filter(({ record }) => record.outcome === 'completed')).toHaveLength(
        begun.running.length,
      )
    },
    { timeout: 4_000 },
  )
  await gateway.kill()
  const books = await booksOf(begun)
  for (const { model, client } of begun.running) {
    expect(await client.ended).toBe('cut')
    expect(client.text()).toContain(said[1])
    expect(books.get(model)).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
  }
})

type StreamError = { readonly code: unknown; readonly message: unknown }

/** The error that a stream ends with, as its client reads it. */
const endOf: Readonly<Record<ClientName, (text: string) => StreamError>> = {
  chat: (text) => errorIn(JSON.parse(text.trimEnd().split('data: ').at(-1) ?? '')),
  responses(text) {
    const response = expectStream(readEvents(text))
    expect(response.status).toBe('failed')
    return errorIn(response)
  },
  messages(text) {
    const events = readMessageEvents(text)
    expectMessageStream(events, 'broken')
    return errorIn({ ...events.at(-1) })
  },
}

function errorIn(event: object): StreamError {
  const { error } = event as { readonly error: StreamError }
  return { code: error.code, message: error.message }
}

test('Redis frozen at the last byte: streams end with an error and are charged, other responses are a 503 and free', async () => {
  const gateway = await stack.startGateway({ ...patientCounting, ...longLease })
  const begun = await begin(gateway, 'frozen', 'content', modes)
  stack.redis.freeze()
  onTestFinished(() => stack.redis.thaw())
  begun.goOn()
  for (const { client } of begun.running) expect(await client.ended).toBe('whole')
  stack.redis.thaw()
  const books = await vi.waitFor(
    async () => {
      const all = await booksOf(begun)
      for (const { mode, model } of begun.running)
        expect(all.get(model)?.costNano).toBe(mode === 'stream' ? wholeCost : 0n)
      return all
    },
    { timeout: 15_000 },
  )
  for (const { name, mode, model, client } of begun.running) {
    const { outcome } = books.get(model)?.record ?? {}
    if (mode === 'plain') {
      expect([client.status(), client.headers().get('x-gateway-cost-rub'), outcome]).toEqual([
        503,
        '0',
        'unsettled',
      ])
      expect(JSON.parse(client.text()).error.message).toContain('Nothing was charged')
    } else {
      expect([client.status(), outcome]).toEqual([200, 'completed'])
      expect(client.text()).toContain(said[1])
      // What it has to do next: nothing, since the same request would be charged again.
      expect(endOf[name](client.text())).toEqual({
        code: name === 'responses' ? 'invalid_prompt' : 'service_unavailable',
        message: expect.stringMatching(/is complete and is charged.*Do not repeat the request/),
      })
    }
  }
})
