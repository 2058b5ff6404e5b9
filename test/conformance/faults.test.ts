import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import type { RequestRecord } from '#core/ledger/request-record'
import { anthropicApi } from '../support/anthropic.ts'
import { makeCertificate } from '../support/certificate.ts'
import type { Customer } from '../support/customer.ts'
import { startGemini } from '../support/gemini.ts'
import { gemini25Flash } from '../support/gemini-models.ts'
import { responsesApi } from '../support/openai-responses.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { forEachAtOnce } from '../support/several-at-once.ts'
import { stackOfThisFile, untilListed } from '../support/stack.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { speeches } from './fault-apis.ts'
import {
  type Api,
  apis,
  type Cell as Expected,
  type Fault,
  type FaultyApi,
  faults,
  faultyApis,
  type Outcome,
} from './fault-cases.ts'
import { type Answered, type ClientName, faultClients, type Mode } from './fault-clients.ts'
import { type Bytes, scriptOf } from './fault-scripts.ts'

/** Another model that may answer: none, or one of this API. */
type Others = 'alone' | Api

/** One fault of a provider of one API, in one mode and with one fallback, as a client of one of our APIs sees it. */
type Cell = {
  readonly client: ClientName
  readonly fault: Fault
  readonly expected: Expected
  readonly api: FaultyApi
  readonly mode: Mode
  readonly others: Others
  readonly arriving: Bytes
}

/** What came of one cell. */
type Played = Answered & {
  readonly model: string
  readonly fallback: string
  readonly requestId: string
  readonly received: number
}

const cells = faults.flatMap((fault, at) =>
  (fault.apis ?? faultyApis).flatMap((api) =>
    (['plain', 'stream'] as const).flatMap((mode) => cellsOf({ fault, api, mode }, at)),
  ),
)

/**
 * Without a fallback, with one of the same API and with one of another, which changes from fault to fault. The Responses API
 * and Messages only write the outcome in their own way: there are fewer of their cells.
 */
function cellsOf(cell: Pick<Cell, 'fault' | 'api' | 'mode'>, at: number): readonly Cell[] {
  const expected = cell.fault[cell.mode]
  if (expected === undefined) return []
  const ofChatAlone = { ...cell, expected, client: 'chat', others: 'alone', arriving: 'whole' } as const
  const foreign = apis.filter((api) => api !== cell.api)
  // It relays what its own client sent; for others it is one more API of a provider.
  if (cell.api === 'Responses')
    return [
      ofChatAlone,
      ...(['alone', foreign[at % foreign.length] ?? 'OpenAI'] as const).map((others) => ({
        ...ofChatAlone,
        client: 'responses' as const,
        others,
      })),
    ]
  const whole = ['alone', cell.api, foreign[at % foreign.length] ?? cell.api] as const
  const [alone, , other] = whole
  const ofChat = { ...cell, expected, client: 'chat' } as const
  return [
    ...whole.map((others) => ({ ...ofChat, others, arriving: 'whole' as const })),
    ...inSingle(cell, expected).map((others) => ({ ...ofChat, others, arriving: 'single' as const })),
    ...(['responses', 'messages'] as const).flatMap((client) =>
      [alone, other].map((others) => ({ ...cell, expected, client, others, arriving: 'whole' as const })),
    ),
  ]
}

/** Single bytes prove nothing of an API where nothing is parsed before its own events, or the provider is silent. */
function inSingle({ api, mode }: Pick<Cell, 'api' | 'mode'>, { script }: Expected): readonly Others[] {
  if (script?.steps === undefined) return []
  if (api === 'OpenAI') return ['alone', api]
  const waits = script.steps.some((step) => 'stall' in step || 'signsOfLife' in step)
  return mode === 'plain' || waits ? [] : ['alone']
}

/**
 * Nano-rubles per token. The fallback costs twice as much, so that a bill shows which route served the
 * request.
 */
const inputNano = 10_000n
const outputNano = 30_000n
/** The usage that the scripted provider reports for a successful response. */
const usageTokens = { input: 10n, output: 5n }
const fallbackPrice = { inputNano: inputNano * 2n, outputNano: outputNano * 2n, contextLength: 9_000 }
/** Of a model that stalls: a plain attempt leaves half of the deadline for its fallback, and none for itself. */
const soon = { requestMs: 8_000, firstByteMs: 1_000, streamIdleMs: 1_000 }
/** Of every other one: a busy machine's pause is no fault of its provider. */
const late = { requestMs: 60_000, firstByteMs: 30_000, streamIdleMs: 30_000 }
/** Requests, and models that are created, at once. */
const atOnce = 24

const stack = await stackOfThisFile()
const certificate = makeCertificate()
const untrusted = await startUpstream({ certificate })
const gone = await startUpstream()
await gone.stop()
const silent = createServer().listen(0, '127.0.0.1')
/** The name of a cell's model at its provider. */
const placeOf = (cell: Cell) => `${speeches[cell.api].model}-fault-${cells.indexOf(cell)}`
const fallbackPlaceOf = (api: Api) => `${speeches[api].model}-fallback`
const upstreams: Readonly<Record<FaultyApi, Upstream>> = {
  OpenAI: stack.upstream,
  Anthropic: await startUpstream({ api: anthropicApi }),
  Responses: await startUpstream({ api: responsesApi }),
  Gemini: await startGemini({
    models: [...cells.map(placeOf), fallbackPlaceOf('Gemini')].map((id) => ({ ...gemini25Flash, id })),
  }),
}
afterAll(async () => {
  silent.close()
  await Promise.all(
    [untrusted, upstreams.Anthropic, upstreams.Gemini, upstreams.Responses].map((server) => server.stop()),
  )
})

let gateway: Process
let customer: Customer
const played = new Map<Cell, Played>()
const records = new Map<string, { readonly cost: bigint; readonly record: RequestRecord }>()
let costs: ReadonlyMap<string, bigint>

beforeAll(async () => {
  customer = await stack.createCustomer({ rpm: 100_000 })
  await stack.startWorker()
  gateway = await stack.startGateway({ ...patient, UPSTREAM_CONNECT_TIMEOUT_MS: '1000' })
  const fallbacks = await createFallbacks()
  const ready = await createPlaces(fallbacks)
  await untilListed(gateway, customer.key, [...Object.values(fallbacks), ...ready.map(({ model }) => model)])
  // Those that wait for time-outs are first in the list.
  await forEachAtOnce(ready, atOnce, async (place) => played.set(place.cell, await playHeard(place)))
  await vi.waitFor(
    async () => {
      const books = await stack.readBooks(customer.organizationId)
      for (const [requestId, booked] of books.records) records.set(requestId, booked)
      costs = books.costs
      expect([...played.values()].filter(({ requestId }) => !records.has(requestId))).toEqual([])
    },
    { timeout: 20_000 },
  )
}, 180_000)

/** On a busy machine Redis may answer too late: such a request called no provider and leaves no record. */
function playHeard(place: Place): Promise<Played> {
  return vi.waitFor(
    async () => {
      const answer = await play(place)
      // In the stream of a Responses client it has another code.
      expect(answer.text).not.toContain('The gateway cannot check API keys and balances')
      return answer
    },
    { timeout: 30_000, interval: 100 },
  )
}

async function createFallbacks(): Promise<Readonly<Record<Api, string>>> {
  const create = async (api: Api) => {
    const provider = await createProvider(api, undefined)
    const place = fallbackPlaceOf(api)
    const speech = speeches[api]
    upstreams[api].answer(place, ({ body, path }) =>
      body.stream === true || path.includes(':stream')
        ? speech.streamed('from the ', 'fallback')
        : speech.plain('from the fallback', {}, {}),
    )
    const backends = [{ name: 'main', provider, model: place, priority: 0, weight: 1 }]
    return stack.createModel({ ...fallbackPrice, backends })
  }
  return {
    OpenAI: await create('OpenAI'),
    Anthropic: await create('Anthropic'),
    Gemini: await create('Gemini'),
  }
}

type Place = {
  readonly cell: Cell
  readonly model: string
  readonly fallback: string
  readonly place: string
}

/**
 * Each fault has its own provider in each API and for each client: its failures close none of another one's backends, and
 * its retries are few enough.
 */
async function createPlaces(fallbacks: Readonly<Record<Api, string>>): Promise<readonly Place[]> {
  const providers = new Map<string, string>()
  const nameOf = ({ fault, api, client }: Cell) => `${api} ${client}: ${fault.name}`
  for (const cell of cells)
    if (!providers.has(nameOf(cell)))
      providers.set(nameOf(cell), await createProvider(cell.api, cell.fault.provider))
  const places: Place[] = []
  await forEachAtOnce(cells, atOnce, async (cell) => {
    const { api, others, arriving, expected } = cell
    const place = placeOf(cell)
    if (expected.script !== undefined) upstreams[api].answer(place, scriptOf(api, expected.script, arriving))
    const model = await stack.createModel({
      inputNano,
      outputNano,
      contextLength: 1_000,
      attempts: 2,
      timeouts: stalls(expected) ? soon : late,
      fallbacks: others === 'alone' ? [] : [fallbacks[others]],
      backends: [
        { name: 'main', provider: providers.get(nameOf(cell)) ?? '', model: place, priority: 0, weight: 1 },
      ],
    })
    places.push({ cell, model, fallback: others === 'alone' ? '' : fallbacks[others], place })
  })
  return places
}

function stalls(outcome: Outcome): boolean {
  return 'result' in outcome && outcome.result.endsWith('_timeout')
}

function createProvider(api: FaultyApi, place: Fault['provider']): Promise<string> {
  const { headers, quirks } = speeches[api]
  const network = { http: true, privateAddresses: place !== 'refused' }
  return stack.createProvider({
    api: speeches[api].api,
    quirks,
    headers,
    network,
    baseUrl: addressOf(api, place),
  })
}

function addressOf(api: FaultyApi, place: Fault['provider']): string {
  if (place === 'gone') return gone.url
  if (place === 'untrusted') return untrusted.url
  if (place !== 'silent') return upstreams[api].url
  const address = silent.address()
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`
}

async function play({ cell, model, fallback, place }: Place): Promise<Played> {
  const { path, headers, bodyOf } = faultClients[cell.client]
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      'content-type': 'application/json',
      ...headers(cell.mode),
    },
    body: JSON.stringify(bodyOf(model, cell.mode)),
  })
  const text = await response.text()
  return {
    model,
    fallback,
    status: response.status,
    headers: response.headers,
    text,
    requestId: response.headers.get('x-gateway-request-id') ?? '',
    received: upstreams[cell.api].requestsFor(place).length,
  }
}

const titled = cells.map((cell) => {
  const slowly = cell.arriving === 'single' ? ', in single bytes' : ''
  const others = cell.others === 'alone' ? 'alone' : `fallback ${cell.others}`
  const client = cell.client === 'chat' ? '' : `, ${cell.client}`
  return { title: `${cell.api}: ${cell.fault.name} (${cell.mode}${slowly}, ${others}${client})`, cell }
})

test.each(titled)('$title', ({ cell }) => {
  const { fault, others, expected: outcome } = cell
  const answer = played.get(cell) ?? expect.fail('not played')
  const { record, cost } = records.get(answer.requestId) ?? expect.fail('no record')
  expect(answer.text).not.toMatch(/127\.0\.0\.1|sk-upstream|localhost/)
  expectShown(cell, answer)
  expect(record.apiFormat).toBe(cell.client === 'chat' ? undefined : cell.client)

  const attempts = attemptsOf(outcome, others)
  expect(answer.headers.get('x-gateway-attempts')).toBe(String(attempts.length))
  expect(record.attempts.map(({ result }) => result)).toEqual(attempts)
  if (fault.provider === undefined) expect(answer.received).toBe(triesOf(outcome, others))

  expect(record.outcome).toBe(outcomeOf(outcome, others))
  const [status, errorCode] = isRejected(outcome, others) ? outcome.refusal.split(' ') : ['200']
  expect(record).toMatchObject({ status: Number(status), ...(errorCode === undefined ? {} : { errorCode }) })
  const charge = chargeOf(outcome, others)
  expect(record.usageSource).toBe(usageSources[charge])
  expect(cost).toBe(costOf(charge, record))
  expect(costs.get(answer.requestId) ?? 0n).toBe(cost)
  const shown = answer.headers.get('x-gateway-cost-rub') ?? /"cost_rub":"([\d.]+)"/.exec(answer.text)?.[1]
  if (shown !== undefined) expect(findRub(shown)).toBe(cost)
})

function expectShown({ client, mode, others, expected: outcome }: Cell, answer: Played): void {
  const { expectAnswer, expectCut, expectRejection } = faultClients[client]
  const ran = answer.headers.get('x-gateway-model')
  if (isRejected(outcome, others)) {
    expect(ran).toBeNull()
    expectRejection(mode, answer, outcome)
    return
  }
  const model = 'refusal' in outcome ? answer.fallback : answer.model
  expect([answer.status, ran]).toEqual([200, model])
  const text = 'answer' in outcome ? outcome.answer : 'from the fallback'
  if ('cut' in outcome) expectCut(answer, outcome)
  else expectAnswer(mode, answer, { model, text })
}

/** No other model answers. */
function isRejected(outcome: Outcome, others: Others): outcome is Extract<Outcome, { refusal: string }> {
  return 'refusal' in outcome && (others === 'alone' || outcome.fallback === 'same')
}

function attemptsOf(outcome: Outcome, others: Others): readonly string[] {
  if ('answer' in outcome) return ['answered']
  if ('cut' in outcome) return [outcome.result]
  const failed = new Array<string>(triesOf(outcome, others)).fill(outcome.result)
  return others !== 'alone' && outcome.fallback !== 'same' ? [...failed, 'answered'] : failed
}

function triesOf(outcome: Outcome, others: Others): number {
  if (!('tries' in outcome)) return 1
  return others === 'alone' ? (outcome.triesAlone ?? outcome.tries) : outcome.tries
}

function outcomeOf(outcome: Outcome, others: Others): RequestRecord['outcome'] {
  if ('cut' in outcome) return 'upstream_cut'
  if ('answer' in outcome || (others !== 'alone' && outcome.fallback !== 'same')) return 'completed'
  return outcome.refusal.startsWith('400') ? 'refused_upstream' : 'failed'
}

const usageSources = {
  nothing: 'none',
  usage: 'provider',
  fallback: 'provider',
  estimate: 'estimated',
} as const

type Charge = keyof typeof usageSources

function chargeOf(outcome: Outcome, others: Others): Charge {
  if ('cut' in outcome) return 'estimate'
  if ('answer' in outcome) return outcome.charged
  return others !== 'alone' && outcome.fallback !== 'same' ? 'fallback' : 'nothing'
}

function costOf(charge: Charge, { tokens }: RequestRecord): bigint {
  if (charge === 'nothing') return 0n
  const exact = usageTokens.input * inputNano + usageTokens.output * outputNano
  if (charge !== 'estimate') return charge === 'usage' ? exact : exact * 2n
  expect(tokens.input).toBeGreaterThan(0)
  expect(tokens.output).toBeGreaterThan(0)
  expect(tokens.output).toBeLessThan(10)
  return BigInt(tokens.input) * inputNano + BigInt(tokens.output) * outputNano
}
