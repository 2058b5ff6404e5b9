import { expect, test } from 'vitest'
import { judgePayments, type PaymentBooks, type Side } from './payment-verdict.ts'
import type { Intent } from './payments.ts'

const intent: Intent = {
  organizationId: 'organization',
  amountRub: 1_000,
  paymentId: 'payment',
  deed: 'paid',
  refunds: [{ id: 'refund', amountRub: 1 }],
}
const till: Side = {
  payments: [{ ourId: 'payment', isPaid: true, kopecks: 100_000n }],
  refunds: [{ paymentId: 'payment', ourId: 'refund', kopecks: 100n }],
}
const books: PaymentBooks = {
  ...till,
  credits: [
    { refId: 'payment', kopecks: 100_000n },
    { refId: 'refund', kopecks: -100n },
  ],
}
const [payment, credit, debit] = [till.payments[0], books.credits[0], books.credits[1]]
const twice = <One>(one: One) => [one, one].filter((each) => each !== undefined)

test('payments and refunds that agree with those of the test payment provider are found sound', () => {
  expect(judgePayments([intent], till, books)).toEqual([])
  const left: Intent = { ...intent, deed: 'left', refunds: [] }
  const open = { payments: [{ ourId: 'payment', isPaid: false, kopecks: 100_000n }], refunds: [] }
  expect(judgePayments([left], open, { ...open, credits: [] })).toEqual([])
})

test.each<[string, 'lost' | 'duplicate' | 'wrong_amount', Partial<Side>, Partial<PaymentBooks>]>([
  ['was made twice', 'duplicate', { payments: twice(payment) }, {}],
  ['was never made', 'lost', { payments: [] }, {}],
  ['is of another amount', 'wrong_amount', { payments: [{ ...payment, kopecks: 1n } as never] }, {}],
  ['is paid, and not so here', 'lost', {}, { payments: [{ ...payment, isPaid: false } as never] }],
  ['is not credited', 'lost', {}, { credits: [debit as never] }],
  ['is credited twice', 'duplicate', {}, { credits: [...twice(credit), debit] as never }],
  [
    'is credited with another amount',
    'wrong_amount',
    {},
    { credits: [{ ...credit, kopecks: 1n }, debit] as never },
  ],
  ['was given back twice', 'duplicate', { refunds: twice(till.refunds[0]) }, {}],
  ['was given back, and not so here', 'lost', {}, { refunds: [] }],
  ['was given back, and not debited', 'lost', {}, { credits: [credit as never] }],
  [
    'nobody asked for',
    'wrong_amount',
    { payments: [payment as never, { ...payment, ourId: null } as never] },
    {},
  ],
])('a payment that %s is %s', (_, kind, tillFields, bookFields) => {
  const found = judgePayments([intent], { ...till, ...tillFields }, { ...books, ...bookFields })
  expect(found.map((finding) => finding.kind)).toContain(kind)
})
