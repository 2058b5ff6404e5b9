import { expect, test } from 'vitest'
import { readAnswer } from './yookassa.ts'
import { paymentShape } from './yookassa-shapes.ts'

const payment = {
  id: 'p',
  status: 'pending',
  paid: false,
  test: true,
  something: { new: 1 },
  amount: { value: '100.50', currency: 'RUB' },
  recipient: { account_id: '1', gateway_id: '2' },
  metadata: { payment_id: 'ours' },
}

const read = (status: number, body: unknown) => readAnswer(paymentShape, status, JSON.stringify(body))

test('a payment is read, and what is not known of it is ignored', () => {
  expect(read(200, payment)).toMatchObject({
    kind: 'answered',
    value: { id: 'p', amount: 100_500_000_000n, shopId: '1', paymentId: 'ours', isTest: true },
  })
})

test.each([
  [500, {}, { kind: 'unknown', retryAfterMs: 60_000 }],
  [502, 'html', { kind: 'unknown', retryAfterMs: 60_000 }],
  [429, { code: 'too_many_requests' }, { kind: 'unknown', retryAfterMs: 60_000 }],
  [202, { type: 'processing', retry_after: 1800 }, { kind: 'unknown', retryAfterMs: 1800 }],
  [202, { retry_after: 600_000 }, { kind: 'unknown', retryAfterMs: 600_000 }],
  [202, { retry_after: 1e12 }, { kind: 'unknown', retryAfterMs: 3_600_000 }],
  [202, {}, { kind: 'unknown', retryAfterMs: 60_000 }],
  [302, {}, { kind: 'unknown' }],
  [200, { id: 'p' }, { kind: 'unknown' }],
  [400, { code: 'invalid_request' }, { kind: 'refused', code: 'invalid_request' }],
  [400, 'html', { kind: 'unknown', retryAfterMs: 60_000 }],
  [401, { code: 'invalid_credentials' }, { kind: 'unknown', retryAfterMs: 60_000 }],
  [403, { code: 'forbidden' }, { kind: 'unknown', retryAfterMs: 60_000 }],
  [403, 'html', { kind: 'unknown', retryAfterMs: 60_000 }],
  [404, 'html', { kind: 'unknown', retryAfterMs: 60_000 }],
  [404, { code: 'not_found' }, { kind: 'refused', code: 'not_found' }],
])('status %i with %j is %j', (status, body, expected) => {
  expect(read(status, body)).toMatchObject(expected)
})

test.each(['100.505', '-1.00', 'NaN', '1e5'])('%s is no amount of kopecks', (value) => {
  const answer = read(200, { ...payment, amount: { value, currency: 'RUB' } })
  expect(answer).toMatchObject({ kind: 'answered', value: { amount: undefined } })
})

test.each([
  ['https://yoomoney.ru/pay/1', true],
  ['http://127.0.0.1:3002/pay/1', true],
  ['http://yoomoney.ru/pay/1', false],
  ['javascript:alert(1)', false],
])('a payment page at %s is one: %s', (confirmation_url, isOne) => {
  const payment = {
    id: 'a',
    status: 'pending',
    amount: { value: '1.00', currency: 'RUB' },
    test: true,
    confirmation: { confirmation_url },
  }
  expect(paymentShape.safeParse(payment).success).toBe(isOne)
  expect(paymentShape.safeParse({ ...payment, id: 'a\0' }).success, 'an id with a NUL').toBe(false)
})
