import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { TillOptions } from '#standalone/yookassa/start-till'
import { folderOfThisTest } from '../support/folder.ts'
import { launch } from '../support/standalone.ts'
import { callApi, driveTill, testShop, tillOfThisTest } from '../support/till.ts'

const hourMs = 60 * 60_000
const dayMs = 24 * hourMs
const rub = (value: string) => ({ value, currency: 'RUB' })
const returnUrl = 'http://localhost:3000/payments/1'
const order = {
  amount: rub('100.00'),
  capture: true,
  confirmation: { type: 'redirect', return_url: returnUrl },
}
const receiptOf = (...amounts: string[]) => ({
  customer: { email: 'anna@example.com' },
  items: amounts.map((amount) => ({
    description: 'Пополнение баланса',
    quantity: 1,
    amount: rub(amount),
    vat_code: 11,
    measure: 'piece',
    payment_subject: 'service',
    payment_mode: 'full_prepayment',
  })),
  internet: true,
  timezone: 2,
})

/** A test payment provider with its shop and users. */
async function tillAndShop(options: Partial<TillOptions> = {}) {
  const till = await tillOfThisTest(options)
  const post = (path: string, body: unknown, key?: string) =>
    callApi(till, 'POST', path, key === undefined ? { body } : { body, key })
  const get = (path: string) => callApi(till, 'GET', path)
  const people = driveTill(till.url)
  return {
    till,
    people,
    post,
    get,
    /** Answers the id of a new payment. */
    async order(changed: object = {}): Promise<string> {
      const { status, body } = await post('/payments', { ...order, ...changed })
      expect([status, body]).toEqual([200, expect.objectContaining({ status: 'pending' })])
      return String(body.id)
    },
    payment: async (id: string) => (await get(`/payments/${id}`)).body,
    refund: (payment_id: string, amount: string, more: object = {}) =>
      post('/refunds', { payment_id, amount: rub(amount), ...more }),
    events: async () => (await people.journal()).notifications.map(({ event }) => event),
  }
}

const errorOf = (code: string, parameter?: string) => ({
  type: 'error',
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  code,
  description: expect.any(String),
  ...(parameter === undefined ? {} : { parameter }),
})

type Arrival = { readonly body: Record<string, unknown>; readonly from: string | undefined }

/** Takes notifications, and answers what the test wants. */
async function receiverOfThisTest(answer: (n: number) => number = () => 200) {
  const arrivals: Arrival[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    arrivals.push({
      body: JSON.parse(Buffer.concat(chunks).toString()),
      from: incoming.socket.remoteAddress,
    })
    response.writeHead(answer(arrivals.length)).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { arrivals, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?secret=s` }
}

describe('before anything else', () => {
  test('without the id and the key of the shop everything is 401, whatever is asked', async () => {
    const { till } = await tillAndShop()
    const wrong = Buffer.from(`${testShop.shopId}:wrong`).toString('base64')
    for (const authorization of ['', `Basic ${wrong}`, 'Basic', 'Bearer x'])
      for (const path of ['/payments', '/refunds/1', '/nothing'])
        expect(await callApi(till, 'GET', path, { headers: { authorization } })).toEqual({
          status: 401,
          body: errorOf('invalid_credentials', 'Authorization'),
        })
  })

  test('what is not there is 404; a wrong method is 405 and a wrong type 415, both without a body', async () => {
    const { till, get, post } = await tillAndShop()
    for (const path of ['/nothing', '/payments/1', '/refunds/1', '/payments/1/2/3'])
      expect(await get(path)).toEqual({ status: 404, body: expect.objectContaining({ code: 'not_found' }) })
    expect(await post('/payments/1/capture', {})).toMatchObject({ status: 404 })
    for (const [method, path] of [
      ['DELETE', '/payments'],
      ['GET', '/payments/1/cancel'],
      ['POST', '/payments/1'],
    ] as const)
      expect([method, path, await callApi(till, method, path)]).toEqual([
        method,
        path,
        { status: 405, body: {} },
      ])
    const text = { body: 'a', headers: { 'content-type': 'text/plain' } }
    expect(await callApi(till, 'POST', '/payments', text)).toEqual({ status: 415, body: {} })
  })

  test('pages and commands are for those who call this machine by its name', async () => {
    const { till } = await tillAndShop({ publicUrl: 'http://pay.example:8443' })
    const statusFor = async (host: string, path: string) =>
      (await request(till.url + path, { headers: { host } })).statusCode
    for (const path of ['/', '/till/journal']) {
      expect(await statusFor('stranger.example', path)).toBe(404)
      for (const host of ['localhost:1', '127.0.0.1', 'pay.example'])
        expect(await statusFor(host, path)).toBe(200)
    }
  })
})

describe('the idempotence key', () => {
  test('none and one of 65 characters are 400; one of 64 is right', async () => {
    const { till } = await tillAndShop()
    const postWith = (key: string | null) => callApi(till, 'POST', '/payments', { body: order, key })
    for (const key of [null, '', 'k'.repeat(65)])
      expect(await postWith(key)).toEqual({
        status: 400,
        body: errorOf('invalid_request', 'Idempotence-Key'),
      })
    expect(await postWith('k'.repeat(64))).toMatchObject({ status: 200 })
  })

  test('the same key and body get the first answer for 24 hours, and then a new payment', async () => {
    const { people, post } = await tillAndShop()
    const first = await post('/payments', order, 'k1')
    const reordered = Object.fromEntries(Object.entries(order).toReversed())
    await people.pay(String(first.body.id))
    await people.moveClock({ forwardMs: dayMs - 60_000 })
    expect(await post('/payments', reordered, 'k1')).toEqual(first)
    await people.moveClock({ forwardMs: 60_000 })
    const second = await post('/payments', order, 'k1')
    expect(second.body.id).not.toBe(first.body.id)
    expect((await people.journal()).payments).toHaveLength(2)
  })

  test('the same key with another body, or for something else, is 400', async () => {
    const { people, post } = await tillAndShop()
    const { body } = await post('/payments', order, 'k1')
    for (const [path, changed] of [
      ['/payments', { ...order, amount: rub('100.01') }],
      ['/refunds', { payment_id: body.id, amount: rub('1.00') }],
    ] as const)
      expect(await post(path, changed, 'k1')).toEqual({
        status: 400,
        body: { ...errorOf('invalid_request', 'Idempotence-Key'), description: 'Idempotence key duplicated' },
      })
    expect((await people.journal()).payments).toHaveLength(1)
  })

  test('a hundred requests at once with one key make one payment', async () => {
    const { people, post } = await tillAndShop()
    const answers = await Promise.all(Array.from({ length: 100 }, () => post('/payments', order, 'k1')))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await people.journal()).payments).toHaveLength(1)
  })

  test('a request that was refused leaves its key free', async () => {
    const { post } = await tillAndShop()
    expect(await post('/payments', {}, 'k1')).toMatchObject({ status: 400 })
    expect(await post('/payments', order, 'k1')).toMatchObject({ status: 200 })
  })
})

describe('a new payment', () => {
  test('waits for its payer, who has an address to go to', async () => {
    const { till, post } = await tillAndShop()
    const metadata = { payment_id: 'p1' }
    const { status, body } = await post('/payments', { ...order, metadata, description: 'Пополнение' })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-000f-5000-8000-[0-9a-f]{12}$/),
      status: 'pending',
      paid: false,
      amount: rub('100.00'),
      confirmation: {
        type: 'redirect',
        return_url: returnUrl,
        confirmation_url: `${till.url}/checkout/payments/v2/contract?orderId=${body.id}`,
      },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      description: 'Пополнение',
      metadata,
      recipient: { account_id: testShop.shopId, gateway_id: expect.any(String) },
      refundable: false,
      test: true,
    })
  })

  test.each([
    ['an amount of three decimals', { amount: rub('100.000') }, 'amount.value'],
    ['an amount without decimals', { amount: rub('100') }, 'amount.value'],
    ['an amount with a comma', { amount: rub('100,00') }, 'amount.value'],
    ['an amount with an exponent', { amount: rub('1e400') }, 'amount.value'],
    ['an amount that is a number', { amount: { value: 100, currency: 'RUB' } }, 'amount.value'],
    ['a negative amount', { amount: rub('-1.00') }, 'amount.value'],
    ['an amount of nothing', { amount: rub('0.00') }, 'amount.value'],
    ['an amount above what a card may pay', { amount: rub('350000.01') }, 'amount.value'],
    ['another currency', { amount: { value: '1.00', currency: 'USD' } }, 'amount.currency'],
    ['no amount', { amount: undefined }, 'amount'],
    ['a capture that is a text', { capture: 'true' }, 'capture'],
    ['no confirmation', { confirmation: undefined }, 'confirmation'],
    ['no address to return to', { confirmation: { type: 'redirect' } }, 'confirmation.return_url'],
    [
      'an address that is none',
      { confirmation: { type: 'redirect', return_url: '/x' } },
      'confirmation.return_url',
    ],
    [
      'an address that is too long',
      { confirmation: { type: 'redirect', return_url: `http://a.example/${'x'.repeat(2048)}` } },
      'confirmation.return_url',
    ],
    ['a description of 129 characters', { description: 'я'.repeat(129) }, 'description'],
    ['17 pairs of metadata', { metadata: pairs(17) }, 'metadata'],
    ['a name of 33 characters', { metadata: { ['k'.repeat(33)]: 'v' } }, `metadata.${'k'.repeat(33)}`],
    ['a value of 513 characters', { metadata: { a: 'v'.repeat(513) } }, 'metadata.a'],
    ['a value that is no text', { metadata: { a: 1 } }, 'metadata.a'],
    [
      'a way to pay that no test shop has',
      { payment_method_data: { type: 'sbp' } },
      'payment_method_data.type',
    ],
    ['a field that is not known', { ammount: rub('1.00') }, 'ammount'],
  ])('%s is refused, by name', async (_what, changed, parameter) => {
    const { people, post } = await tillAndShop()
    expect(await post('/payments', { ...order, ...changed })).toEqual({
      status: 400,
      body: errorOf('invalid_request', parameter),
    })
    expect((await people.journal()).payments).toEqual([])
  })

  test('the longest of everything is taken', async () => {
    const { post } = await tillAndShop()
    const metadata = { ...pairs(15), ['k'.repeat(32)]: 'v'.repeat(512) }
    const longest = { ...order, amount: rub('350000.00'), description: 'я'.repeat(128), metadata }
    expect(await post('/payments', longest)).toMatchObject({ status: 200, body: { metadata } })
  })

  test('a body that is no JSON is 400', async () => {
    const { post } = await tillAndShop()
    for (const body of ['{', 'null', '[]', '"x"'])
      expect(await post('/payments', body)).toMatchObject({ status: 400 })
  })

  test('is canceled if not paid within an hour, and the shop is notified', async () => {
    const { people, order: make, payment, events } = await tillAndShop()
    const id = await make()
    await people.moveClock({ forwardMs: hourMs - 60_000 })
    expect(await payment(id)).toMatchObject({ status: 'pending' })
    await people.moveClock({ forwardMs: 60_000 })
    expect(await payment(id)).toMatchObject({
      status: 'canceled',
      paid: false,
      cancellation_details: { party: 'yoo_money', reason: 'expired_on_confirmation' },
    })
    expect(await payment(id)).not.toHaveProperty('confirmation')
    expect(await events()).toEqual(['payment.canceled'])
  })
})

describe('a payment that is paid', () => {
  test('has succeeded when it is captured at once', async () => {
    const { people, order: make, payment, events } = await tillAndShop({ isTestShop: false })
    const id = await make()
    await people.pay(id)
    const body = await payment(id)
    expect(body).toMatchObject({
      status: 'succeeded',
      paid: true,
      refundable: true,
      test: false,
      amount: rub('100.00'),
      income_amount: rub('95.73'),
      payment_method: { type: 'bank_card', id, saved: false },
      captured_at: expect.any(String),
    })
    for (const name of ['confirmation', 'expires_at', 'refunded_amount'])
      expect(body).not.toHaveProperty(name)
    expect(await events()).toEqual(['payment.succeeded'])
  })

  test('waits for the shop without `capture`, and is captured fully, partially or not at all', async () => {
    const { people, order: make, payment, post } = await tillAndShop()
    const { capture: _, ...unsaid } = order
    const paidOf = async () => {
      const id = String((await post('/payments', unsaid)).body.id)
      await people.pay(id)
      return id
    }
    const [whole, part, none] = [await paidOf(), await paidOf(), await paidOf()]
    const waiting = await payment(whole)
    expect(waiting).toMatchObject({ status: 'waiting_for_capture', paid: true, refundable: false })
    expect(Date.parse(String(waiting.expires_at))).toBeGreaterThan(Date.now() + 2 * hourMs)
    expect(await post(`/payments/${whole}/capture`, {})).toMatchObject({ body: { status: 'succeeded' } })
    expect(await post(`/payments/${part}/capture`, { amount: rub('100.01') })).toMatchObject({ status: 400 })
    expect(await post(`/payments/${part}/capture`, { amount: rub('40.00') })).toMatchObject({
      body: { status: 'succeeded', amount: rub('40.00') },
    })
    expect(await post(`/payments/${none}/cancel`, {})).toMatchObject({
      body: {
        status: 'canceled',
        paid: false,
        cancellation_details: { party: 'merchant', reason: 'canceled_by_merchant' },
      },
    })
    for (const id of [whole, none, await make()])
      for (const step of ['capture', 'cancel'])
        expect(await post(`/payments/${id}/${step}`, {})).toMatchObject({ status: 400 })
  })

  test('goes back to its payer when the shop forgets it', async () => {
    const { people, order: make, payment, events } = await tillAndShop()
    const id = await make({ capture: false })
    await people.pay(id)
    await people.moveClock({ forwardMs: 7 * dayMs })
    const cancellation_details = { party: 'yoo_money', reason: 'expired_on_capture' }
    expect(await payment(id)).toMatchObject({ status: 'canceled', cancellation_details })
    expect(await events()).toEqual(['payment.waiting_for_capture', 'payment.canceled'])
  })
})

describe('receipts', () => {
  const illegal = {
    status: 400,
    body: { ...errorOf('invalid_request', 'receipt'), description: 'Receipt is missing or illegal' },
  }

  test('a shop that needs them makes no payment without one that comes to its amount', async () => {
    const { people, post, payment } = await tillAndShop({ receipts: 'required' })
    const [item] = receiptOf('100.00').items
    for (const receipt of [
      undefined,
      receiptOf('99.99'),
      receiptOf('50.00', '50.01'),
      receiptOf(),
      { items: [item] },
      { ...receiptOf('100.00'), customer: { email: 'anna' } },
      { ...receiptOf('100.00'), customer: { phone: '79000000000' } },
      ...['description', 'quantity', 'amount', 'vat_code', 'measure'].map((name) => ({
        ...receiptOf('100.00'),
        items: [{ ...item, [name]: undefined }],
      })),
      ...[
        { vat_code: 13 },
        { payment_mode: 'advance' },
        { description: 'я'.repeat(129) },
        { quantity: 0 },
      ].map((changed) => ({ ...receiptOf('100.00'), items: [{ ...item, ...changed }] })),
      receiptOf(...Array.from({ length: 80 }, () => '1.00'), '20.00'),
    ])
      expect([receipt, await post('/payments', { ...order, receipt })]).toEqual([receipt, illegal])
    const thrice = { ...item, quantity: '2.5', amount: rub('20.00') }
    const receipt = { ...receiptOf('50.00'), items: [...receiptOf('50.00').items, thrice] }
    const { status, body } = await post('/payments', { ...order, receipt })
    expect([status, body.receipt_registration]).toEqual([200, 'pending'])
    await people.pay(String(body.id))
    expect(await payment(String(body.id))).toMatchObject({ receipt_registration: 'succeeded' })
  })

  test('a part that is refunded needs its own receipt, the whole takes that of the payment', async () => {
    const { people, order: make, refund } = await tillAndShop({ receipts: 'required' })
    const [part, whole] = [
      await make({ receipt: receiptOf('100.00') }),
      await make({ receipt: receiptOf('100.00') }),
    ]
    await people.pay(part)
    await people.pay(whole)
    expect(await refund(part, '40.00')).toEqual(illegal)
    expect(await refund(part, '40.00', { receipt: receiptOf('41.00') })).toEqual(illegal)
    expect(await refund(part, '40.00', { receipt: receiptOf('40.00') })).toMatchObject({ status: 200 })
    expect(await refund(whole, '100.00')).toMatchObject({ body: { receipt_registration: 'succeeded' } })
  })
})

describe('a refund', () => {
  test('takes back parts until nothing is left, and never more', async () => {
    const { people, order: make, payment, refund, get, events } = await tillAndShop()
    const id = await make()
    await people.pay(id)
    const first = await refund(id, '40.00', { description: 'Возврат' })
    expect(first).toEqual({
      status: 200,
      body: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        payment_id: id,
        status: 'succeeded',
        amount: rub('40.00'),
        created_at: expect.any(String),
        description: 'Возврат',
        metadata: {},
      },
    })
    expect(await get(`/refunds/${first.body.id}`)).toEqual(first)
    expect(await payment(id)).toMatchObject({ refunded_amount: rub('40.00'), refundable: true })
    for (const amount of ['60.01', '0.00', '-1.00', '1'])
      expect(await refund(id, amount)).toEqual({
        status: 400,
        body: errorOf('invalid_request', 'amount.value'),
      })
    expect(await refund(id, '60.00')).toMatchObject({ status: 200 })
    expect(await payment(id)).toMatchObject({
      status: 'succeeded',
      paid: true,
      refundable: false,
      amount: rub('100.00'),
      refunded_amount: rub('100.00'),
    })
    expect(await refund(id, '0.01')).toMatchObject({ status: 400 })
    expect(await events()).toEqual(['payment.succeeded', 'refund.succeeded', 'refund.succeeded'])
  })

  test('of the whole, asked for ten times at once, is made once', async () => {
    const { people, order: make, refund } = await tillAndShop()
    const id = await make()
    await people.pay(id)
    const answers = await Promise.all(Array.from({ length: 10 }, () => refund(id, '100.00')))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(400)])
  })

  test('is for payments that have succeeded', async () => {
    const { people, order: make, refund } = await tillAndShop()
    const [pending, waiting, declined] = [await make(), await make({ capture: false }), await make()]
    await people.pay(waiting)
    await people.decline(declined)
    for (const id of [pending, waiting, declined, '2c1b6f4b-000f-5000-8000-000000000000', '1'])
      expect(await refund(id, '1.00')).toEqual({
        status: 400,
        body: errorOf('invalid_request', 'payment_id'),
      })
  })

  test('that takes its time holds its money, and gives it back when it fails', async () => {
    const { people, order: make, payment, refund, get, events } = await tillAndShop()
    const id = await make()
    await people.pay(id)
    await people.set({ refunds: 'later' })
    const { body } = await refund(id, '100.00')
    expect(body).toMatchObject({ status: 'pending' })
    expect(await payment(id)).not.toHaveProperty('refunded_amount')
    expect(await refund(id, '1.00')).toMatchObject({ status: 400 })
    await people.finishRefund(String(body.id), 'canceled')
    const cancellation_details = { party: 'yoo_money', reason: 'insufficient_funds' }
    expect((await get(`/refunds/${body.id}`)).body).toMatchObject({
      status: 'canceled',
      cancellation_details,
    })
    const again = await refund(id, '100.00')
    await people.finishRefund(String(again.body.id), 'succeeded')
    expect(await payment(id)).toMatchObject({ refunded_amount: rub('100.00') })
    expect(await events()).toEqual(['payment.succeeded', 'refund.succeeded'])
  })
})

describe('lists', () => {
  test('of payments come newest first, ten unless more are wanted, and go on at their cursor', async () => {
    const { order: make, get, people } = await tillAndShop()
    const ids: string[] = []
    for (let n = 0; n < 12; n++) ids.unshift(await make())
    const idsOf = (body: Record<string, unknown>) => (body.items as { id: string }[]).map(({ id }) => id)
    const first = await get('/payments')
    expect([first.body.type, idsOf(first.body)]).toEqual(['list', ids.slice(0, 10)])
    // What happens between two pages moves nothing.
    await make()
    await people.pay(ids[10] ?? '')
    const last = await get(`/payments?status=pending&cursor=${first.body.next_cursor}`)
    expect([idsOf(last.body), last.body.next_cursor]).toEqual([ids.slice(11), undefined])
    expect(idsOf((await get('/payments?limit=100')).body)).toHaveLength(13)
  })

  test('are filtered by time, status and payment', async () => {
    const { order: make, get, people, refund, payment } = await tillAndShop()
    const old = await make()
    await people.pay(old)
    await people.moveClock({ forwardMs: 5_000 })
    const young = await make()
    const oldAt = String((await payment(old)).created_at)
    const youngAt = String((await payment(young)).created_at)
    const found = async (path: string, query: Record<string, string>) =>
      ((await get(`${path}?${new URLSearchParams(query)}`)).body.items as { id: string }[]).map(
        ({ id }) => id,
      )
    expect(await found('/payments', { 'created_at.gte': oldAt, 'created_at.lt': youngAt })).toEqual([old])
    expect(await found('/payments', { 'created_at.gt': oldAt, 'created_at.lte': youngAt })).toEqual([young])
    expect(await found('/payments', { status: 'pending' })).toEqual([young])
    expect(await found('/payments', { 'captured_at.gte': oldAt })).toEqual([old])
    const { body } = await refund(old, '1.00')
    expect(await found('/refunds', { payment_id: old, status: 'succeeded' })).toEqual([body.id])
    expect(await found('/refunds', { payment_id: young })).toEqual([])
  })

  test('refuse a limit, a cursor, a time or a filter that is none', async () => {
    const { get } = await tillAndShop()
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'cursor=x',
      'created_at.gte=today',
      'status=paid',
      'x=1',
    ])
      expect([query, await get(`/payments?${query}`)]).toEqual([
        query,
        { status: 400, body: errorOf('invalid_request', query.replace(/=.*/, '')) },
      ])
  })
})

describe('the page to pay', () => {
  async function pageOfThisTest() {
    const shop = await tillAndShop()
    const id = await shop.order({ description: '<script>alert(1)</script>' })
    const { confirmation } = await shop.payment(id)
    const url = (confirmation as { confirmation_url: string }).confirmation_url
    return {
      ...shop,
      id,
      show: async () => await (await fetch(url)).text(),
      press: async (form: Record<string, string>) =>
        await fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' }),
    }
  }

  test.each([
    ['pay', 'succeeded', 'waiting'],
    ['pay_lost', 'succeeded', 'lost'],
    ['decline', 'canceled', 'waiting'],
  ])('%s leads back to the shop', async (action, status, state) => {
    const { id, show, press, payment, people } = await pageOfThisTest()
    expect(await show()).toContain(`value="${action}"`)
    const response = await press({ action })
    expect([response.status, response.headers.get('location')]).toEqual([303, returnUrl])
    expect(await payment(id)).toMatchObject({ status })
    expect((await people.journal()).notifications).toMatchObject([{ objectId: id, state }])
    expect(await show()).not.toContain(`value="${action}"`)
    expect((await press({ action })).status).toBe(409)
  })

  test('pays back, a part and the rest, as the console of the provider does', async () => {
    const { id, show, press, payment, events } = await pageOfThisTest()
    expect(await show()).not.toContain('Вернуть</button>')
    await press({ action: 'pay' })
    expect((await press({ action: 'refund', amount: '40,00' })).status).toBe(303)
    expect(await show()).toContain('value="60.00"')
    for (const amount of ['60.01', 'x', ''])
      expect((await press({ action: 'refund', amount })).status).toBe(409)
    await press({ action: 'refund', amount: '60.00' })
    expect(await payment(id)).toMatchObject({ refunded_amount: rub('100.00') })
    expect(await events()).toEqual(['payment.succeeded', 'refund.succeeded', 'refund.succeeded'])
  })

  test('runs nothing that a shop wrote, is found in the list, and is 404 for another payment', async () => {
    const { till, id, show } = await pageOfThisTest()
    const list = await (await fetch(till.url)).text()
    expect(list).toContain(`orderId=${id}`)
    for (const page of [list, await show()]) expect(page).not.toContain('<script')
    expect((await fetch(`${till.url}/checkout/payments/v2/contract?orderId=1`)).status).toBe(404)
  })
})

describe('notifications', () => {
  test('say what happened, with the object as it was, from the address that was chosen', async () => {
    const receiver = await receiverOfThisTest()
    const {
      people,
      order: make,
      payment,
      refund,
    } = await tillAndShop({
      notifyUrl: receiver.url,
      notifyFrom: '127.0.0.2',
    })
    const id = await make()
    await people.pay(id)
    const paid = await payment(id)
    const { body: refunded } = await refund(id, '1.00')
    await vi.waitFor(() => expect(receiver.arrivals).toHaveLength(2))
    expect(
      receiver.arrivals.toSorted((a, b) => (String(a.body.event) < String(b.body.event) ? -1 : 1)),
    ).toEqual([
      { from: '127.0.0.2', body: { type: 'notification', event: 'payment.succeeded', object: paid } },
      { from: '127.0.0.2', body: { type: 'notification', event: 'refund.succeeded', object: refunded } },
    ])
    await vi.waitFor(async () =>
      expect((await people.journal()).notifications).toMatchObject([
        { state: 'delivered', statuses: [200] },
        { state: 'delivered', statuses: [200] },
      ]),
    )
  })

  test('are repeated after growing pauses until a 200, which nothing else replaces', async () => {
    const answers = [500, 201, 302, 404]
    const receiver = await receiverOfThisTest((n) => answers[n - 1] ?? 200)
    const { people, order: make } = await tillAndShop({ notifyUrl: receiver.url })
    await people.pay(await make())
    const tried = async (count: number) =>
      await vi.waitFor(async () => {
        const [notification] = (await people.journal()).notifications
        expect(notification?.statuses).toHaveLength(count)
        return notification
      })
    await tried(1)
    for (const [n, pauseMs] of [10_000, 20_000, 40_000, 80_000].entries()) {
      await people.moveClock({ forwardMs: pauseMs / 2 })
      expect((await people.journal()).notifications[0]?.statuses).toHaveLength(n + 1)
      await people.moveClock({ forwardMs: pauseMs / 2 })
      await tried(n + 2)
    }
    expect(await tried(5)).toMatchObject({ state: 'delivered', statuses: [...answers, 200] })
  })

  test('are given up a day after they were made', async () => {
    const receiver = await receiverOfThisTest(() => 500)
    const { people, order: make } = await tillAndShop({ notifyUrl: receiver.url })
    await people.pay(await make())
    await vi.waitFor(() => expect(receiver.arrivals).toHaveLength(1))
    await people.moveClock({ forwardMs: dayMs })
    await vi.waitFor(async () =>
      expect((await people.journal()).notifications).toMatchObject([
        { state: 'given_up', statuses: [500, 500] },
      ]),
    )
  })

  test('that reach no receiver are repeated, too', async () => {
    const { people, order: make } = await tillAndShop({ notifyUrl: 'http://127.0.0.1:1/hook' })
    await people.pay(await make())
    await vi.waitFor(async () =>
      expect((await people.journal()).notifications).toMatchObject([{ state: 'waiting', statuses: [0] }]),
    )
    const receiver = await receiverOfThisTest()
    await people.set({ notifyUrl: receiver.url })
    await people.moveClock({ forwardMs: 10_000 })
    await vi.waitFor(() => expect(receiver.arrivals).toHaveLength(1))
  })

  test('can be lost, doubled, and held to be delivered in any order', async () => {
    const receiver = await receiverOfThisTest()
    const { people, order: make, refund } = await tillAndShop({ notifyUrl: receiver.url })
    await people.set({ notifications: 'lost' })
    await people.pay(await make())
    await people.set({ notifications: 'held' })
    const id = await make()
    await people.pay(id)
    await refund(id, '1.00')
    const kept = (await people.journal()).notifications
    expect(kept.map(({ state }) => state)).toEqual(['lost', 'held', 'held'])
    expect(receiver.arrivals).toEqual([])
    expect(await people.deliver(kept[2]?.id ?? '')).toEqual([200])
    expect(await people.deliver(kept[1]?.id ?? '', 2)).toEqual([200, 200])
    expect(receiver.arrivals.map(({ body }) => body.event)).toEqual([
      'refund.succeeded',
      'payment.succeeded',
      'payment.succeeded',
    ])
    await people.set({ notifications: 'sent', copies: 3 })
    await people.pay(await make())
    await vi.waitFor(() => expect(receiver.arrivals).toHaveLength(6))
  })
})

describe('on demand', () => {
  test('500 with the work done or not; the same key finds the one payment', async () => {
    const { people, post } = await tillAndShop()
    await people.misbehave({ on: 'create_payment', answer: 'internal_error', work: 'not_done', times: 2 })
    await people.misbehave({ on: 'create_payment', answer: 'internal_error', times: 2 })
    const unknown = { status: 500, body: errorOf('internal_server_error') }
    for (const made of [0, 0, 1, 1]) {
      expect(await post('/payments', order, 'k1')).toEqual(unknown)
      expect((await people.journal()).payments).toHaveLength(made)
    }
    const { status, body } = await post('/payments', order, 'k1')
    const { payments, requests } = await people.journal()
    expect([status, payments.map(({ id }) => id)]).toEqual([200, [body.id]])
    expect(requests.map((one) => [one.idempotenceKey, one.status])).toEqual(
      [500, 500, 500, 500, 200].map((answered) => ['k1', answered]),
    )
  })

  test('500 for as long as requested, and only for the requested operation', async () => {
    const { people, post, get } = await tillAndShop()
    await people.misbehave({ on: 'create_refund', answer: 'internal_error', times: null })
    expect(await post('/payments', order)).toMatchObject({ status: 200 })
    for (let n = 0; n < 5; n++) expect(await post('/refunds', {})).toMatchObject({ status: 500 })
    await people.behave()
    expect(await post('/refunds', {})).toMatchObject({ status: 400 })
    await people.misbehave({ on: 'any', answer: 'internal_error' })
    expect((await get('/payments')).status).toBe(500)
    expect((await get('/payments')).status).toBe(200)
  })

  test('202 until the time that it names has passed', async () => {
    const { people, post } = await tillAndShop()
    await people.misbehave({ answer: 'processing', retryAfterMs: 60_000 })
    const processing = { type: 'processing', description: expect.any(String) }
    expect(await post('/payments', order, 'k1')).toEqual({
      status: 202,
      body: { ...processing, retry_after: 60_000 },
    })
    expect(await post('/payments', order, 'k1')).toMatchObject({ status: 202, body: processing })
    await people.moveClock({ forwardMs: 60_000 })
    expect(await post('/payments', order, 'k1')).toMatchObject({ status: 200, body: { status: 'pending' } })
    expect((await people.journal()).payments).toHaveLength(1)
  })

  test('429, which does nothing', async () => {
    const { people, post } = await tillAndShop()
    await people.misbehave({ answer: 'too_many_requests' })
    expect(await post('/payments', order)).toEqual({ status: 429, body: errorOf('too_many_requests') })
    expect((await people.journal()).payments).toEqual([])
  })

  test('silence, with the work done or not, and an answer that is late', async () => {
    const { till, people } = await tillAndShop()
    const authorization = `Basic ${Buffer.from(`${testShop.shopId}:${testShop.secretKey}`).toString('base64')}`
    const postImpatiently = () =>
      fetch(`${till.apiUrl}/payments`, {
        method: 'POST',
        headers: { authorization, 'idempotence-key': 'k1', 'content-type': 'application/json' },
        body: JSON.stringify(order),
        signal: AbortSignal.timeout(200),
      })
    await people.misbehave({ answer: 'silence', work: 'not_done' })
    await people.misbehave({ answer: 'silence' })
    await people.misbehave({ answer: 'usual', delayMs: 60_000 })
    for (const made of [0, 1, 1]) {
      await expect(postImpatiently()).rejects.toThrow(/timeout|aborted/)
      expect((await people.journal()).payments).toHaveLength(made)
    }
    expect((await postImpatiently()).status).toBe(200)
  })
})

describe('its file', () => {
  test('keeps payments, refunds, keys and notifications for the next start, even after an incomplete line', async () => {
    const stateFile = join(folderOfThisTest('till'), 'till.jsonl')
    const first = await tillAndShop({ stateFile })
    const id = await first.order()
    await first.people.pay(id)
    await first.refund(id, '40.00')
    const keyed = await first.post('/payments', order, 'k1')
    const before = await first.people.journal()
    await first.till.stop()
    appendFileSync(stateFile, '{"payment":{"id":"')

    const receiver = await receiverOfThisTest()
    const second = await tillAndShop({ stateFile, publicUrl: first.till.url })
    const after = await second.people.journal()
    expect([after.payments, after.refunds, after.notifications]).toEqual([
      before.payments,
      before.refunds,
      before.notifications,
    ])
    expect(await second.post('/payments', order, 'k1')).toEqual(keyed)
    await second.people.set({ notifyUrl: receiver.url })
    await vi.waitFor(() => expect(receiver.arrivals).toHaveLength(2))
  })
})

describe('as a process', () => {
  test('it prints its address, takes its settings from the environment and stops on SIGTERM', async () => {
    const child = launch('standalone/yookassa/main.ts', {
      TEST_PAYMENTS_PORT: '0',
      TEST_PAYMENTS_SHOP_ID: testShop.shopId,
      TEST_PAYMENTS_SECRET_KEY: testShop.secretKey,
      TEST_PAYMENTS_RECEIPTS: 'required',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = await once(child.stdout, 'data')
    const { testPaymentsUrl, apiUrl } = JSON.parse(String(line))
    expect(await callApi({ apiUrl }, 'POST', '/payments', { body: order })).toMatchObject({
      status: 400,
      body: { parameter: 'receipt' },
    })
    expect((await driveTill(testPaymentsUrl).journal()).payments).toEqual([])
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('it still takes its settings under their old names, and shows its address under both', async () => {
    const child = launch('standalone/yookassa/main.ts', {
      TEST_PAYMENTS_PORT: '',
      TILL_PORT: '0',
      TILL_RECEIPTS: 'required',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const warned = text(child.stderr)
    const [line] = await once(child.stdout, 'data')
    const { testPaymentsUrl, tillUrl } = JSON.parse(String(line))
    expect(testPaymentsUrl).not.toBe('http://127.0.0.1:3002')
    expect(tillUrl).toBe(testPaymentsUrl)
    child.kill('SIGTERM')
    expect((await warned).trimEnd().split('\n')).toEqual([
      'TILL_PORT is deprecated and stops working in 0.3.0. Set TEST_PAYMENTS_PORT instead.',
      'TILL_RECEIPTS is deprecated and stops working in 0.3.0. Set TEST_PAYMENTS_RECEIPTS instead.',
    ])
  })
})

function pairs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`name${n}`, 'value']))
}

describe('a saved card', () => {
  const saving = { save_payment_method: true, payment_method_data: { type: 'bank_card' } }
  const charge = (payment_method_id: string, more: object = {}) => ({
    amount: rub('250.00'),
    capture: true,
    payment_method_id,
    ...more,
  })

  async function savedCard(options: Partial<TillOptions> = {}) {
    const shop = await tillAndShop(options)
    const id = await shop.order(saving)
    await shop.people.pay(id)
    return { ...shop, id }
  }

  test('is saved when its payment is paid, and charged without its payer', async () => {
    const { id, payment, post, events } = await savedCard()
    expect(await payment(id)).toMatchObject({ payment_method: { id, saved: true, card: { last4: '4444' } } })
    const { status, body } = await post('/payments', charge(id))
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        status: 'succeeded',
        paid: true,
        payment_method: expect.objectContaining({ id, saved: true }),
      }),
    ])
    expect(body).not.toHaveProperty('confirmation')
    expect(await events()).toEqual(['payment.succeeded', 'payment.succeeded'])
  })

  test('is not saved unless the shop asks for it, and only a saved card is charged', async () => {
    const { order, people, payment, post } = await tillAndShop()
    const [unsaved, unpaid] = [await order(), await order(saving)]
    await people.pay(unsaved)
    expect(await payment(unsaved)).toMatchObject({ payment_method: { saved: false } })
    for (const id of [unsaved, unpaid, 'x'.repeat(36)])
      expect(await post('/payments', charge(id))).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', parameter: 'payment_method_id' },
      })
  })

  test.each([
    ['confirmation', { confirmation: order.confirmation }],
    ['payment_method_data', { payment_method_data: { type: 'bank_card' } }],
    ['save_payment_method', { save_payment_method: true }],
  ])('is not charged with %s', async (parameter, more) => {
    const { id, post } = await savedCard()
    expect(await post('/payments', charge(id, more))).toMatchObject({ status: 400, body: { parameter } })
  })

  test('may be declined, wait for an outcome, or be forbidden by its payer', async () => {
    const { id, people, payment, post } = await savedCard()
    await people.set({ savedCards: 'insufficient_funds' })
    expect((await post('/payments', charge(id))).body).toMatchObject({
      status: 'canceled',
      cancellation_details: { party: 'payment_network', reason: 'insufficient_funds' },
    })
    await people.set({ savedCards: 'wait' })
    const { body } = await post('/payments', charge(id))
    expect(body).toMatchObject({ status: 'pending', paid: false })
    await people.pay(String(body.id))
    expect(await payment(String(body.id))).toMatchObject({ status: 'succeeded' })
    await people.set({ savedCards: 'pay' })
    await people.revokeMethod(id)
    expect((await post('/payments', charge(id))).body).toMatchObject({
      status: 'canceled',
      cancellation_details: { reason: 'permission_revoked' },
    })
  })

  test('is 403 for a shop that the provider has not allowed to save cards', async () => {
    const { post } = await tillAndShop({ savesCards: false })
    expect(await post('/payments', { ...order, ...saving })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  })
})
