import { randomUUID } from 'node:crypto'
import { Agent, fetch as fetchFrom } from 'undici'
import { expect, test, vi } from 'vitest'
import { visitorOf } from '../support/cabinet.ts'
import { listedAddress, moneyInOfThisFile, readPaymentStates, webhookSecret } from '../support/money-in.ts'
import { rowsOfOrganization } from '../support/organization-rows.ts'
import { makePayer, type Payer } from '../support/payer.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { testShop } from '../support/till.ts'

// Web, receivers and workers, each in a separate process that logs everything.
const { stack, drive, webhooks, receivers, workers, shopEnv, lines, hear } = await moneyInOfThisFile({
  LOG_LEVEL: 'trace',
})
const { pool } = stack.database
const web = await stack.startWeb({ ...shopEnv, LOG_LEVEL: 'trace', TRUSTED_PROXY_CIDRS: '127.0.0.0/8' }, hear)
const origin = new URL(web.baseUrl).origin
const administration = await stack.startAdministration(
  { ...shopEnv, LOG_LEVEL: 'trace', TRUSTED_PROXY_CIDRS: '127.0.0.0/8' },
  hear,
)

/** All responses, with their headers. */
const answers: string[] = []

/** Calls a receiver like the provider does, by default from a listed address. */
async function notify(body: unknown, to: string = webhooks[0], from = listedAddress): Promise<number> {
  const dispatcher = new Agent({ localAddress: from })
  try {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetchFrom(to, { method: 'POST', body: text, dispatcher })
    answers.push(JSON.stringify([...answer.headers]), await answer.text())
    return answer.status
  } finally {
    await dispatcher.destroy()
  }
}

async function post(payer: Pick<Payer, 'cookie'>, path: string, body: object = {}) {
  const { baseUrl } = path.startsWith('/admin/') ? administration : web
  const visitor = visitorOf(new URL(baseUrl).origin)
  visitor.cookie = payer.cookie
  const answer = await visitor.call('POST', path, body, { 'idempotency-key': randomUUID() })
  answers.push(JSON.stringify([...answer.headers]), answer.text)
  return answer
}

async function begin(payer: Payer, amount: string) {
  const { body } = await post(payer, '/payments', { amount_rub: amount })
  const { providerId = null } = (await readPaymentStates(stack, [body.id])).get(body.id) ?? {}
  return { id: String(body.id), providerId: providerId ?? '' }
}

const untilOutcomes = (objectId: string, expected: readonly string[]) =>
  vi.waitFor(async () => {
    const { rows } = await pool.query('select outcome from webhook_inbox where object_id = $1 order by id', [
      objectId,
    ])
    expect(rows.map(({ outcome }) => outcome)).toEqual(expected)
  })

test('a forged notification with the right secret from the listed address moves nothing of a pending payment', async () => {
  const payer = await makePayer(stack.database.pool)
  const { id, providerId } = await begin(payer, '1000')
  const { payments } = await drive.journal()
  const real = payments.find(({ metadata }) => metadata.payment_id === id)
  expect(real).toMatchObject({ id: providerId, status: 'pending' })
  const before = await rowsOfOrganization(pool, payer.organizationId)
  expect(before.some((row) => row.startsWith('payments '))).toBe(true)

  for (const status of ['succeeded', 'waiting_for_capture', 'canceled']) {
    const object = { ...real, status, paid: true }
    expect(await notify({ type: 'notification', event: `payment.${status}`, object })).toBe(200)
  }
  const refund = { id: randomUUID(), payment_id: providerId, status: 'succeeded', amount: real?.amount }
  expect(await notify({ type: 'notification', event: 'refund.succeeded', object: refund })).toBe(200)
  // An event that claims that a payment is a refund.
  expect(
    await notify({ type: 'notification', event: 'refund.succeeded', object: { ...refund, id: providerId } }),
  ).toBe(200)

  await untilOutcomes(providerId, ['settled', 'settled', 'settled', 'not_found'])
  await untilOutcomes(refund.id, ['not_found'])
  expect(await rowsOfOrganization(pool, payer.organizationId)).toEqual(before)
  expect((await drive.journal()).payments.find((one) => one.id === providerId)).toEqual(real)
})

/** All that can go well and wrong with a notification and a payment. */
async function useEverything(): Promise<string> {
  const payer = await makePayer(stack.database.pool)
  const administrator = await signedInAdministrator(stack.database.pool)
  const { id, providerId } = await begin(payer, '1000')
  await drive.pay(providerId)
  for (const { id: told, objectId } of (await drive.journal()).notifications)
    if (objectId === providerId) await drive.deliver(told, 1, webhooks[1])
  await untilOutcomes(providerId, ['settled'])
  await post(administrator, `/admin/payments/${id}/refunds`, {
    reason: 'asked for by the customer',
    amount_rub: '1',
  })

  for (const answer of ['internal_error', 'too_many_requests', 'processing'] as const)
    for (const on of ['create_payment', 'create_refund', 'get_payment'] as const) {
      await drive.misbehave({ on, answer })
      await post(payer, '/payments', { amount_rub: '100' })
      await post(payer, `/payments/${id}/refresh`)
      await post(administrator, `/admin/payments/${id}/refunds`, {
        reason: 'asked for by the customer',
        amount_rub: '1',
      })
      await drive.behave()
    }
  await post(payer, '/payments', { amount_rub: '0.01' })

  const hint = { type: 'notification', event: 'payment.succeeded', object: { id: randomUUID() } }
  const bare = webhooks[0].split('?')[0]
  expect(await notify(hint, webhooks[0], '127.0.0.3')).toBe(403)
  expect(await notify(hint, `${webhooks[0]}x`)).toBe(401)
  expect(await notify(hint, `${webhooks[0]}&secret=${webhookSecret}`)).toBe(401)
  expect(await notify(hint, `${bare}/${webhookSecret}?secret=${webhookSecret}`)).toBe(404)
  expect(await notify(webhookSecret)).toBe(400)
  expect(await notify(`"${'x'.repeat(64 * 1024)}"`)).toBe(413)
  const right = 'insert (provider, event, object_id, body) on webhook_inbox'
  await pool.query(`revoke ${right} from model_gateway_webhook`)
  expect(await notify(hint)).toBe(503)
  await pool.query(`grant ${right} to model_gateway_webhook`)
  expect(await notify(hint)).toBe(200)
  await untilOutcomes(hint.object.id, ['not_found'])
  // A caller that asks the cabinet has the secret in an unknown URL.
  answers.push(
    await (await fetch(`${origin}/webhooks/yookassa?secret=${webhookSecret}`, { method: 'POST' })).text(),
  )
  answers.push(await (await fetch(`${origin}/api/v1/payments?secret=${webhookSecret}`)).text())
  return providerId
}

/** A secret as it is, and as it could stand in an address, a header, JSON or a column of bytes. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const percents = [...bytes].map((byte) => `%${byte.toString(16)}`).join('')
  return [
    secret,
    encodeURIComponent(secret),
    percents,
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
}

async function everyRow(): Promise<readonly string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const found = await Promise.all(
    tables.map(({ name }) => pool.query<{ row: string }>(`select t::text as row from ${name} t`)),
  )
  return found.flatMap(({ rows }) => rows.map(({ row }) => row))
}

test('neither the secret nor the key of the shop is in a line, a metric, an answer or a row', async () => {
  const providerId = await useEverything()
  const pages = await Promise.all(
    [web, administration, ...workers, ...receivers].flatMap(({ adminUrl }) =>
      ['metrics', 'livez', 'readyz'].map(async (page) => (await fetch(`${adminUrl}/${page}`)).text()),
    ),
  )
  const rows = await everyRow()
  // The search has something to find: each process has logged, and each table was read.
  for (const name of ['cabinet', 'administration', 'worker', 'webhook'])
    expect(lines.some((line) => line.includes(`"name":"model-gateway-${name}"`))).toBe(true)
  expect(pages.join()).toContain('model_gateway_webhook_calls_total')
  expect(rows.filter((row) => row.includes(providerId)).length).toBeGreaterThan(1)

  const credentials = `${testShop.shopId}:${testShop.secretKey}`
  const hidden = [webhookSecret, testShop.secretKey, credentials].flatMap(formsOf)
  const seen = [...lines, ...pages, ...answers, ...rows]
  expect(seen.filter((text) => hidden.some((secret) => text.includes(secret)))).toEqual([])
})
