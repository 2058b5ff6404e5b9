import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { beforeAll, expect, test, vi } from 'vitest'
import { checkInvariants } from '#core/ledger/invariants'
import { findRub } from '#core/ledger/money'
import { adminCommand, setUpAdministrator, setUpTokenIn } from '../support/administrators.ts'
import { newEmail, registration, type Visitor, visitorOf } from '../support/cabinet.ts'
import type { Process } from '../support/processes.ts'
import { smtpOfThisFile } from '../support/smtp.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain, streamed } from '../support/upstream.ts'
import { appUrl } from '../support/web-settings.ts'

const stack = await stackOfThisFile()
const smtp = await smtpOfThisFile()
const gateways: Process[] = []
let cabinetUrl = ''

beforeAll(async () => {
  await Promise.all([stack.startWorker(smtp.env), stack.startWorker(smtp.env)])
  const web = await stack.startWeb()
  cabinetUrl = new URL(web.baseUrl).origin
  const env = { CABINET_URL: cabinetUrl }
  gateways.push(...(await Promise.all([stack.startGateway(env), stack.startGateway(env)])))
})

test('a user registers, spends each ruble of the trial, sees it everywhere, is rejected at zero, and is served again after a credit', async () => {
  const owner = await registered()
  const { secret: key, id: keyId } = await makeKey(owner, 'laptop')
  const blocked = await makeKey(owner, 'lost')
  expect(await owner.post(`/keys/${blocked.id}/block`)).toMatchObject({
    status: 200,
    body: { programmed: true },
  })
  expect(await balanceOf(owner)).toBe(30_000_000_000n)

  const asked = await askPlainly(key)
  await expectEverywhere(owner, key, asked)
  const streamedOne = await askStreamed(key)
  await expectEverywhere(owner, key, streamedOne)
  expect(asked.cost + streamedOne.cost).toBe(5_000_000n)

  const last = await spendAll(owner, key)
  for (const gateway of gateways) expect(await ask(gateway, key, last.model)).toBe('402 insufficient_balance')
  await expectEverywhere(owner, key, last)
  expect(await balanceOf(owner)).toBe(0n)
  expect(await statesOf(owner)).toEqual({
    laptop: { status: 'blocked', blocked_by: ['balance'] },
    lost: { status: 'blocked', blocked_by: ['owner', 'balance'] },
  })

  const organization = (await owner.get('/me')).body.organization
  await credit(await administrator(), organization, '10')
  for (const gateway of gateways) {
    expect(await ask(gateway, key, asked.model)).toBe('200')
    expect(await ask(gateway, blocked.secret, asked.model)).toBe('403 api_key_blocked')
  }
  expect(await statesOf(owner)).toEqual({
    laptop: { status: 'active', blocked_by: [] },
    lost: { status: 'blocked', blocked_by: ['owner'] },
  })
  const { body: limits } = await owner.get(`/keys/${keyId}/effective-limits`)
  expect(limits).toMatchObject({ live: true, would_refuse: false })
  const breached = (await checkInvariants(stack.database.pool)).filter(({ breachCount }) => breachCount > 0)
  expect(breached).toEqual([])
}, 90_000)

/** A new user, whose address is confirmed by the link in the email. */
async function registered(): Promise<Visitor> {
  const visitor = visitorOf(cabinetUrl)
  const email = newEmail()
  expect((await visitor.post('/auth/register', registration({ email }))).status).toBe(202)
  const { text } = await smtp.untilLetter(email, 'verify_email')
  expect((await visitor.post('/auth/verify-email', { token: tokenOf(text, 'verify-email') })).status).toBe(
    204,
  )
  return visitor
}

function tokenOf(text: string, page: 'verify-email' | 'reset'): string {
  return new RegExp(`^${appUrl}/${page}#token=([\\w-]{43})$`, 'm').exec(text)?.[1] ?? ''
}

async function makeKey(
  owner: Visitor,
  name: string,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { status, body } = await owner.call('POST', '/keys', { name }, { 'idempotency-key': randomUUID() })
  expect([status, body.key.status]).toEqual([201, 'active'])
  return { id: body.key.id, secret: body.secret }
}

type Asked = { readonly requestId: string; readonly model: string; readonly cost: bigint }

const messages = [{ role: 'user' as const, content: 'Say hello' }]
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }

/** A new model, once both gateways serve it. */
async function servedModel(key: string, fields?: Parameters<typeof stack.createModel>[0]): Promise<string> {
  const model = await stack.createModel(fields)
  for (const gateway of gateways) await untilServed(gateway, key, model)
  return model
}

function clientOf(key: string): OpenAI {
  return new OpenAI({ baseURL: gateways[0]?.baseUrl ?? '', apiKey: key, maxRetries: 0 })
}

/** The official SDK's plain completion; its cost is the header's. */
async function askPlainly(key: string, fields: Parameters<typeof stack.createModel>[0] = {}, said = usage) {
  const model = await servedModel(key, fields)
  stack.upstream.answer(model, plain('Hello', { usage: said }))
  const { data, response } = await clientOf(key).chat.completions.create({ model, messages }).withResponse()
  expect(data.choices[0]?.message.content).toBe('Hello')
  const requestId = response.headers.get('x-gateway-request-id') ?? ''
  return { requestId, model, cost: nano(response.headers.get('x-gateway-cost-rub')) }
}

/** The official SDK's streamed completion; its cost is the last chunk's. */
async function askStreamed(key: string): Promise<Asked> {
  const model = await servedModel(key)
  stack.upstream.answer(model, streamed(['Hel', 'lo'], { usage }))
  const { data, response } = await clientOf(key)
    .chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } })
    .withResponse()
  let said = ''
  let cost: unknown
  for await (const chunk of data) {
    said += chunk.choices[0]?.delta.content ?? ''
    if (chunk.usage) cost = Object(chunk.usage).cost_rub
  }
  expect(said).toBe('Hello')
  return { requestId: response.headers.get('x-gateway-request-id') ?? '', model, cost: nano(cost) }
}

/** One more request, whose price takes the balance to exactly zero. */
async function spendAll(owner: Visitor, key: string): Promise<Asked> {
  const balance = await balanceOf(owner)
  const promptTokens = 100
  const inputNano = balance / BigInt(promptTokens)
  const last = await askPlainly(
    key,
    { inputNano, outputNano: 0n, contextLength: promptTokens }, // all that is held is used
    { prompt_tokens: promptTokens, completion_tokens: 1, total_tokens: promptTokens + 1 },
  )
  expect(last.cost).toBe(balance)
  return last
}

/** What one request costs is the same to the nano-ruble wherever its owner may look. */
async function expectEverywhere(
  owner: Visitor,
  key: string,
  { requestId, model, cost }: Asked,
): Promise<void> {
  const receipt = await vi.waitFor(
    async () => {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`${gateways[1]?.baseUrl}/requests/${requestId}`, { headers })
      expect(response.status).toBe(200)
      return response.json() as Promise<{ readonly cost_rub: string }>
    },
    { timeout: 5_000, interval: 20 },
  )
  const day = 86_400_000
  const [from, to] = [-day, day].map((ms) => new Date(Date.now() + ms).toISOString().slice(0, 10))
  const [ofRequest, ofLedger, ofUsage] = [{ id: requestId }, { ref_id: requestId }, { model }]
  const span = `from=${from}&to=${to}T00:00:00Z`
  const costs = {
    receipt: nano(receipt.cost_rub),
    shownReceipt: nano((await owner.get(`/requests/${requestId}`)).body.cost_rub),
    requests: await findCost(owner, '/requests', ofRequest),
    requestsCsv: await findCost(owner, '/requests.csv', ofRequest),
    ledger: await findCost(owner, '/ledger', ofLedger),
    ledgerCsv: await findCost(owner, '/ledger.csv', ofLedger),
    usage: await findCost(owner, `/usage?${span}`, ofUsage),
    usageCsv: await findCost(owner, `/usage.csv?${span}`, ofUsage),
  }
  expect(costs).toEqual(Object.fromEntries(Object.keys(costs).map((place) => [place, cost])))
}

/** The cost in the only row of a list or its CSV that has these fields. */
async function findCost(
  owner: Visitor,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<bigint> {
  const { status, body, text } = await owner.get(path)
  expect([path, status]).toEqual([path, 200])
  const rows: readonly Readonly<Record<string, unknown>>[] = body.data ?? rowsOf(text)
  const found = rows.filter((row) => Object.entries(fields).every(([name, value]) => row[name] === value))
  expect([path, found.length]).toEqual([path, 1])
  const [row = {}] = found
  return row.cost_rub === undefined ? -nano(row.amount_rub) : nano(row.cost_rub)
}

/** Rows of CSV. Our cells here contain no commas. */
function rowsOf(csv: string): readonly Readonly<Record<string, string>>[] {
  const [head = [], ...lines] = csv
    .replace(/^\u{feff}/u, '')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  return lines.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])))
}

function nano(rubles: unknown): bigint {
  const amount = findRub(String(rubles))
  if (amount === undefined) throw new Error(`no amount of rubles: ${rubles}`)
  return amount
}

async function balanceOf(owner: Visitor): Promise<bigint> {
  return nano((await owner.get('/balance')).body.balance_rub)
}

async function statesOf(owner: Visitor): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await owner.get('/keys')
  const keys: readonly Readonly<Record<string, unknown>>[] = body.data
  return Object.fromEntries(
    keys.map(({ name, status, blocked_by }) => [String(name), { status, blocked_by }]),
  )
}

/** The response to one request, without a retry. */
async function ask(gateway: Process, key: string, model: string): Promise<string> {
  const response = await post(gateway, key, { model, messages })
  const answer = (await response.json()) as { readonly error?: { readonly code: string } }
  return response.status === 200 ? '200' : `${response.status} ${answer.error?.code}`
}

/** One whom `npm run admin` has made, signed in with a code of the second factor. */
async function administrator(): Promise<Visitor> {
  const { stdout } = await adminCommand(stack.database.url, [newEmail()])
  const admin = visitorOf(new URL((await stack.startAdministration()).baseUrl).origin)
  await setUpAdministrator(admin, setUpTokenIn(stdout))
  return admin
}

async function credit(
  admin: Visitor,
  organization: { readonly id: string; readonly name: string },
  amount_rub: string,
): Promise<void> {
  const { body: found } = await admin.get(`/admin/organizations?name=${organization.name}`)
  expect(found.data).toMatchObject([{ id: organization.id, balance_rub: '0' }])
  const path = `/admin/organizations/${organization.id}/adjustments`
  const adjustment = { amount_rub, reason: 'The first ruble of a test' }
  const credited = await admin.call('POST', path, adjustment, { 'idempotency-key': randomUUID() })
  expect(credited).toMatchObject({
    status: 201,
    body: { amount_rub, balance_rub: amount_rub, programmed: true },
  })
}
