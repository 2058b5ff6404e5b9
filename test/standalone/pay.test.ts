import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { createPool } from '#core/db/pool'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { aPassword, newEmail, registration, type Visitor, visitorOf } from '../support/cabinet.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisFile } from '../support/folder.ts'
import { inTestScope } from '../support/scope.ts'
import { databaseUrlOf, startStandalone } from '../support/standalone.ts'
import { driveTill } from '../support/till.ts'

// What a user with a browser does on `npm start`. The only other action is to spend money faster than demo models
// can.
const dataDir = folderOfThisFile('pay')
let system = await startStandalone({ DATA_DIR: dataDir })
let pool = openPool()
afterAll(async () => {
  await pool.end()
  await system.stop()
})

function openPool(): Pool {
  const made = createPool({
    databaseUrl: databaseUrlOf(system),
    applicationName: 'test',
    connectionCountMax: 2,
  })
  made.on('error', () => undefined) // the system is stopped and started again
  return made
}

type Payer = { readonly visitor: Visitor; readonly organizationId: string; readonly key: string }

/** A new user with a key, whose address is confirmed, and who so has 30 ₽. */
async function registered(): Promise<Payer> {
  const visitor = visitorOf(system.cabinetUrl)
  const email = newEmail()
  expect((await visitor.post('/auth/register', registration({ email }))).status).toBe(202)
  const token = await vi.waitFor(async () => {
    const letters = (await (await fetch(`${system.mailCatcherUrl}.json`)).json()) as {
      to: string
      links: string[]
    }[]
    const [link = ''] = letters.find(({ to }) => to === email)?.links ?? []
    expect(link).toContain('#token=')
    return link.replace(/^.*#token=/, '')
  })
  expect((await visitor.post('/auth/verify-email', { token })).status).toBe(204)
  expect((await visitor.post('/auth/login', { email, password: aPassword })).status).toBe(200)
  const { body: me } = await visitor.get('/me')
  const { body: key } = await once(visitor, '/keys', { name: 'laptop' })
  return { visitor, organizationId: me.organization.id, key: key.secret }
}

const once = (visitor: Visitor, path: string, body: object) =>
  visitor.call('POST', path, body, { 'idempotency-key': randomUUID() })

/** A request of the key; answers its status. */
async function ask({ key }: Payer): Promise<number> {
  const response = await fetch(`${system.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await response.text()
  return response.status
}

/** In kopecks, ignoring the small cost of other requests. */
async function balanceOf({ visitor }: Payer): Promise<string> {
  return Number((await visitor.get('/balance')).body.balance_rub).toFixed(2)
}

const untilAnswered = (payer: Payer, status: number) =>
  vi.waitFor(async () => expect(await ask(payer)).toBe(status), { timeout: 10_000, interval: 100 })
const untilBalance = (payer: Payer, rubles: string) =>
  vi.waitFor(async () => expect(await balanceOf(payer)).toBe(rubles), { timeout: 10_000, interval: 100 })

/** As if this many rubles had gone for requests. */
const spend = ({ organizationId }: Payer, rubles: bigint) =>
  inTestScope(pool, (client) =>
    credit(client, {
      organizationId,
      kind: 'adjustment',
      refId: randomUUID(),
      amount: nanoRub(-rubles * 1_000_000_000n),
    }),
  )

async function begin({ visitor }: Payer, amount_rub: string) {
  const { status, body } = await once(visitor, '/payments', { amount_rub })
  expect(status).toBe(201)
  expect(body.confirmation_url).toContain(`${system.testPaymentsUrl}/checkout/`)
  return { id: body.id as string, page: body.confirmation_url as string }
}

/**
 * Clicks a button on the test payment provider's page, like a browser submits its form. Returns the page that follows.
 */
async function press(page: string, action: string, fields: Readonly<Record<string, string>> = {}) {
  expect(await (await fetch(page)).text()).toContain(`value="${action}"`)
  const body = new URLSearchParams({ action, ...fields })
  const { status, headers } = await fetch(page, { method: 'POST', body, redirect: 'manual' })
  expect(status).toBe(303)
  return headers.get('location')
}

async function pay(payer: Payer, amount: string, action = 'pay') {
  const { id, page } = await begin(payer, amount)
  const back = new URL((await press(page, action)) ?? '')
  expect([back.origin, back.href.includes(id)]).toEqual([system.cabinetUrl, true])
  return { id, page }
}

test('a user who has spent the trial gets 402, pays 100 ₽ at the test payment provider, and is served', async () => {
  const payer = await registered()
  expect(await ask(payer)).toBe(200)
  await spend(payer, 30n)
  await untilAnswered(payer, 402)
  await pay(payer, '100')
  await untilAnswered(payer, 200)
  expect(await balanceOf(payer)).toBe('100.00')
})

test('1000 ₽ add 1150 ₽, and their refund takes 1150 ₽; where they were spent, the next request is 402 until a top-up', async () => {
  const payer = await registered()
  const first = await pay(payer, '1000')
  await untilBalance(payer, '1180.00')
  await press(first.page, 'refund', { amount: '1000.00' })
  await untilBalance(payer, '30.00')
  expect((await payer.visitor.get(`/payments/${first.id}`)).body).toMatchObject({ status: 'refunded' })

  const second = await pay(payer, '2000')
  await untilBalance(payer, '2030.00')
  await spend(payer, 1000n)
  await untilAnswered(payer, 200)
  await press(second.page, 'refund', { amount: '2000,00' })
  await untilBalance(payer, '-970.00')
  await untilAnswered(payer, 402)
  await pay(payer, '1100')
  await untilAnswered(payer, 200)
  expect(await balanceOf(payer)).toBe('130.00')
})

test('a payment whose notification is lost is credited within 10 s if the user returns, and otherwise by the poller', async () => {
  const payer = await registered()
  await spend(payer, 30n)
  await untilAnswered(payer, 402)
  const startedAtMs = performance.now()
  const { id } = await pay(payer, '100', 'pay_lost')
  expect((await payer.visitor.post(`/payments/${id}/refresh`)).body).toMatchObject({ status: 'succeeded' })
  await untilAnswered(payer, 200)
  expect(performance.now() - startedAtMs).toBeLessThan(10_000)

  const polled = await pay(payer, '200', 'pay_lost')
  const { rows } = await pool.query(
    'select extract(epoch from next_poll_at - now())::int as "dueS" from payments where id = $1',
    [polled.id],
  )
  expect(rows[0].dueS).toBeLessThanOrEqual(300)
  expect(await balanceOf(payer)).toBe('100.00')
  await pool.query('update payments set next_poll_at = now() where id = $1', [polled.id])
  await untilBalance(payer, '300.00')
})

test("the cabinet's own port accepts notifications with the secret", async () => {
  const { webhookSecret } = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'))
  const id = randomUUID()
  const notify = async (query: string, path = 'yookassa', init: RequestInit = {}) => {
    const body = JSON.stringify({ type: 'notification', event: 'payment.succeeded', object: { id } })
    const url = `${system.cabinetUrl}/webhooks/${path}${query}`
    return (await fetch(url, { method: 'POST', body, ...init })).status
  }
  expect(await notify('')).toBe(401)
  expect(await notify(`?secret=${'x'.repeat(43)}`)).toBe(401)
  expect(await notify(`?secret=${webhookSecret}`, 'another')).toBe(404)
  expect(await notify(`?secret=${webhookSecret}`, 'yookassa', { method: 'PUT' })).toBe(405)
  const stored = () => pool.query('select outcome from webhook_inbox where object_id = $1', [id])
  expect((await stored()).rows).toEqual([])
  expect(await notify(`?secret=${webhookSecret}`)).toBe(200)
  await vi.waitFor(async () => expect((await stored()).rows).toEqual([{ outcome: 'not_found' }]))
  expect(readFileSync(join(dataDir, 'log'), 'utf8')).not.toContain(webhookSecret)
})

test('the test payment provider keeps its payments over a restart, and in the end every money invariant holds', async () => {
  const payer = await registered()
  const [paid, open] = [await pay(payer, '1000'), await begin(payer, '100')]
  await untilBalance(payer, '1180.00')
  const { visitor } = payer
  await pool.end()
  expect(await system.stop()).toBe(0)
  system = await startStandalone({ DATA_DIR: dataDir })
  pool = openPool()

  const again = { ...payer, visitor: Object.assign(visitorOf(system.cabinetUrl), { cookie: visitor.cookie }) }
  const pageOf = ({ page }: { readonly page: string }) =>
    page.replace(/^http:\/\/[^/]+/, system.testPaymentsUrl)
  await press(pageOf(open), 'pay')
  await untilBalance(again, '1280.00')
  await press(pageOf(paid), 'refund', { amount: '1.00' })
  await untilBalance(again, '1129.00')
  const { payments } = await driveTill(system.testPaymentsUrl).journal()
  expect(payments.length).toBeGreaterThanOrEqual(2)

  const env = { ...inheritedEnvironment, DATABASE_URL: databaseUrlOf(system) }
  const { stdout } = await promisify(execFile)(process.execPath, ['worker/invariants/main.ts'], { env })
  const lines = stdout.trim().split('\n')
  expect(lines.slice(0, -2)).toEqual(stdout.match(/^\w+: ok$/gm))
  expect(lines.at(-2)).toMatch(/^audit log: \d+ rows, newest hash /)
  expect(lines.at(-1)).toMatch(/ s$/)
})
