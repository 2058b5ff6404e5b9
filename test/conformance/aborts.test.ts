import { beforeAll, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import type { RequestRecord } from '#core/ledger/request-record'
import { prices, promptTokens, said, saidTokens } from '../support/billed-chat.ts'
import type { Customer } from '../support/customer.ts'
import { type LeavingClient, startChat } from '../support/leaving-client.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { type Booked, settledBooks } from '../support/settled-books.ts'
import { forEachAtOnce } from '../support/several-at-once.ts'
import { stackOfThisFile, untilListed } from '../support/stack.ts'
import { type Script, streamHeaders } from '../support/upstream.ts'
import { type AbortRow, abortRows, type Owed } from './abort-rows.ts'
import type { FaultyApi } from './fault-cases.ts'
import { type ClientName, faultClients } from './fault-clients.ts'
import { scriptOf } from './fault-scripts.ts'
import { faultServersOfThisFile } from './fault-servers.ts'

/** One row, as a client of one of our APIs has it with a provider of one API. */
type Cell = { readonly row: AbortRow; readonly client: ClientName; readonly api: FaultyApi }

/** The APIs of providers for each client: its own, where it is relayed as it came, then those that it is translated to. */
const relayed: Readonly<Record<ClientName, readonly FaultyApi[]>> = {
  chat: [],
  responses: ['Responses'],
  messages: ['Anthropic'],
}
const translated: Readonly<Record<ClientName, readonly FaultyApi[]>> = {
  chat: ['Anthropic', 'Gemini', 'Responses'], // OpenAI's: test/gateway/abort-billing.test.ts
  responses: ['OpenAI', 'Anthropic', 'Gemini'],
  messages: ['OpenAI', 'Responses', 'Gemini'],
}

/** Each row where the client's own API is relayed, and at one of the others, which changes from row to row. */
const cells: readonly Cell[] = abortRows.flatMap((row, at) =>
  (['chat', 'responses', 'messages'] as const).flatMap((client) => {
    const isPlayed = (api: FaultyApi) => row.apis?.includes(api) !== false
    const others = translated[client].filter(isPlayed)
    const other = others[at % others.length]
    const apis = [...relayed[client].filter(isPlayed), ...(other === undefined ? [] : [other])]
    return apis.map((api) => ({ row, client, api }))
  }),
)

/** Of every model: what a client asks for at most. */
const outputLimit = 100
/** What a client that waits for a while allows. */
const patienceMs = 4_000

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const placeOf = (cell: Cell) => ({ api: cell.api, name: `abort-${cells.indexOf(cell)}` })
const servers = await faultServersOfThisFile(stack, cells.map(placeOf))
const requestsFor = (cell: Cell) => servers.requestsFor(placeOf(cell))

/** A request that has begun, and what lets its provider go on. */
type Played = { readonly model: string; readonly asked: string; readonly client: LeavingClient }

let gateway: Process
let customer: Customer
const played = new Map<Cell, Played>()
const books = new Map<string, Booked & { readonly id: string }>()
let goOn: () => void = () => undefined
const until = new Promise<void>((resolve) => {
  goOn = resolve
})

/** Each takes a connection to Postgres. */
const createdAtOnce = 8

beforeAll(async () => {
  customer = await stack.createCustomer({ rpm: 100_000 })
  await stack.startWorker()
  const web = await stack.startWeb({ CABINET_RECEIPTS_PER_MINUTE: '1000' })
  const cabinet = { CABINET_URL: new URL(web.baseUrl).origin }
  gateway = await stack.startGateway({ ...patient, ...cabinet, LEASE_MS: '30000' })
  const models = new Map<Cell, string>()
  await forEachAtOnce(cells, createdAtOnce, async (cell) => models.set(cell, await createModel(cell)))
  await untilListed(gateway, customer.key, [...models.values()])
  const playAll = (isPlayed: (row: AbortRow) => boolean) =>
    Promise.all(
      [...models].map(async ([cell, model]) => {
        if (isPlayed(cell.row)) played.set(cell, await play(cell, model))
      }),
    )
  await playAll(({ client }) => client !== 'stays')
  // Clients left, or got an error, before its provider went on.
  const waited = cells.filter(({ row }) => isReadOn(row)).length
  await vi.waitFor(async () => expect(await readMetric(gateway, 'abandoned_requests')).toBe(waited), {
    timeout: 20_000,
    interval: 50,
  })
  goOn()
  // Not before: their times run, and so many at once are slow.
  await playAll(({ client }) => client === 'stays')
  await Promise.all([...played.values()].map(({ client }) => client.ended))
  const booked = await settledBooks(stack, view, customer.organizationId, { requests: cells.length })
  for (const [id, entry] of booked) books.set(entry.record.modelAsked, { id, ...entry })
}, 120_000)

function isReadOn({ client, stops, ends }: AbortRow): boolean {
  return client !== 'stays' && stops !== true && ends.orElse === undefined
}

function createModel(cell: Cell): Promise<string> {
  const { row } = cell
  const fields = {
    ...prices,
    maxOutputTokens: outputLimit,
    timeouts: { requestMs: row.requestMs ?? 60_000, firstByteMs: 30_000, streamIdleMs: 30_000 },
  }
  const place = placeOf(cell)
  const script = writtenFor(cell)
  return row.stops === true
    ? servers.createModel(place, script, { ...fields, hiddenReasoning: false }, 'vllm')
    : servers.createModel(place, script, fields)
}

/** The provider waits for the client to do its part, if there is one. */
function writtenFor({ row, api }: Cell): Script {
  const { before, after, client, mode, status } = row
  const waits = client !== 'stays' && row.ends.orElse === undefined
  const pause = waits && before !== undefined ? [{ until }] : []
  const script = scriptOf(
    api,
    {
      ...(status === undefined ? {} : { status }),
      ...(mode === 'stream' && status === undefined ? { headers: streamHeaders } : {}),
      steps: [...(before ?? []), ...pause, ...after],
    },
    'whole',
  )
  return waits && before === undefined ? { ...script, silentUntil: until } : script
}

async function play(cell: Cell, model: string): Promise<Played> {
  const { row } = cell
  const { path, headers, bodyOf } = faultClients[cell.client]
  const body = bodyOf(model, row.mode)
  const patience = row.client === 'waits for a while' ? { 'x-gateway-timeout-ms': String(patienceMs) } : {}
  const client = startChat(gateway, customer.key, body, { ...headers(row.mode), ...patience }, path)
  await vi.waitFor(() => expect(requestsFor(cell)).toHaveLength(1), {
    timeout: 20_000,
    interval: 5,
  })
  if (row.client === 'leaves') {
    for (const step of row.before ?? []) if ('say' in step) await client.untilRead(step.say)
    client.leave()
  }
  return { model, asked: JSON.stringify(body), client }
}

const titled = cells.map((cell) => ({
  title: `${cell.client} at ${cell.api}: ${cell.row.name} (${cell.row.mode})`,
  cell,
}))

test.each(titled)('$title', async ({ cell }) => {
  const { row, client } = cell
  const { model, asked, client: heard } = played.get(cell) ?? expect.fail('not played')
  const { id, record, costNano, chargeRows } = books.get(model) ?? expect.fail('no record')
  const { outcome, orElse = outcome, status, errorCode = null, result } = row.ends
  expect([outcome, orElse]).toContain(record.outcome)
  if (record.outcome === outcome) expect(record).toMatchObject({ status, errorCode })
  expect(record.attempts.map((attempt) => attempt.result)).toEqual([result])
  expect(record.apiFormat).toBe(client === 'chat' ? undefined : client)

  expectOwed(row.owed, record, asked)
  const { input, output } = sumsOf(record)
  expect(costNano).toBe(BigInt(input) * prices.inputNano + BigInt(output) * prices.outputNano)
  expect(chargeRows).toBe(costNano === 0n ? 0 : 1)
  const receipt = await receiptOf(id)
  expect(findRub(receipt.cost_rub)).toBe(costNano)
  expect(receipt.usage_source).toBe(record.usageSource)
  expectHeard(cell, heard, costNano)
  if (row.stops === true) expect(requestsFor(cell)[0]?.state).toBe('left')
})

function sumsOf({ tokens }: RequestRecord) {
  const { input, cachedInput, cacheWrite, output, reasoning } = tokens
  return { input: input + cachedInput + cacheWrite, output: output + reasoning }
}

/** Of a request without tools (`gateway/tokens/prompt-content.ts`). */
const templateTokens = 256

function expectOwed(owed: Owed, record: RequestRecord, asked: string): void {
  const expected = {
    nothing: ['none', 0, 0],
    prompt: ['estimated', promptTokens, 0],
    delivered: ['estimated', promptTokens, saidTokens],
    usage: ['provider', 10, 5],
    limit: ['provider', 10, outputLimit],
    bound: ['provider', asked.length + templateTokens, 5],
    'cut at the limit': ['estimated', promptTokens, outputLimit],
  }[owed]
  const { input, output } = sumsOf(record)
  expect([record.usageSource, input, output]).toEqual(expected)
}

async function receiptOf(id: string) {
  const headers = { authorization: `Bearer ${customer.key}` }
  const answer = await fetch(`${gateway.baseUrl}/requests/${id}`, { headers })
  expect(answer.status).toBe(200)
  return (await answer.json()) as { readonly cost_rub: string; readonly usage_source: string }
}

/** What a client reads that did not leave. */
function expectHeard({ row, client }: Cell, heard: LeavingClient, costNano: bigint): void {
  if (row.client === 'leaves') return
  const answer = { status: heard.status(), headers: heard.headers(), text: heard.text() }
  const { expectCut, expectRejection } = faultClients[client]
  const { outcome, errorCode = '', status, result = '' } = row.ends
  if (outcome === 'failed') {
    const says = 'its response is charged once it is complete'
    expectRejection(row.mode, answer, { refusal: `${status} ${errorCode}`, result, tries: 1, says })
  } else if (outcome === 'upstream_cut') {
    const cut = (row.before ?? []).map((step) => ('say' in step ? step.say : '')).join('')
    expectCut(answer, { cut, result, code: errorCode })
  } else {
    expect(answer.status).toBe(200)
    if (row.owed !== 'cut at the limit') for (const piece of said) expect(answer.text).toContain(piece.trim())
    const shown = answer.headers.get('x-gateway-cost-rub') ?? /"cost_rub":"([\d.]+)"/.exec(answer.text)?.[1]
    expect(findRub(shown ?? '')).toBe(costNano)
  }
}
