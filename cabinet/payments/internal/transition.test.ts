import { expect, test } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import type { FetchedPayment, FetchedRefund } from './provider.ts'
import { type KnownPayment, type KnownRefund, type PaymentStatus, transition } from './transition.ts'

const shop = { shopId: '1', isTest: false }
const amount = nanoRub(100n)

const known = (status: PaymentStatus, refunds: readonly KnownRefund[] = []): KnownPayment => ({
  id: 'ours',
  providerId: 'theirs',
  amount,
  status,
  reason: null,
  refunds,
})

type Fetched = { readonly payment: FetchedPayment; readonly refunds: readonly FetchedRefund[] }

const fetched = (fields: Partial<FetchedPayment> = {}, refunds: readonly FetchedRefund[] = []): Fetched => ({
  payment: {
    id: 'theirs',
    status: 'succeeded',
    amount,
    currency: 'RUB',
    refunded: nanoRub(0n),
    shopId: '1',
    isTest: false,
    paymentId: 'ours',
    confirmationUrl: undefined,
    isPaid: true,
    capturedAt: undefined,
    cancellationReason: undefined,
    ...fields,
  },
  refunds,
})

const refundOf = (id: string, part: bigint, fields: Partial<FetchedRefund> = {}): FetchedRefund => ({
  id,
  payment: 'theirs',
  status: 'succeeded',
  amount: nanoRub(part),
  currency: 'RUB',
  refundId: undefined,
  cancellationReason: undefined,
  ...fields,
})

const none = { topUp: false, refunds: [], refunded: 0n, reason: null }

test.each([
  ['pending', 'pending', { status: 'pending', isOpen: true }],
  ['pending', 'waiting_for_capture', { status: 'waiting_for_capture', isOpen: true }],
  ['waiting_for_capture', 'pending', { status: 'waiting_for_capture', isOpen: true }],
  ['canceled', 'pending', { status: 'canceled', isOpen: false }],
] as const)('%s, fetched as %s, books nothing', (before, status, expected) => {
  expect(transition(known(before), fetched({ status }), shop)).toEqual({ ...none, ...expected })
})

test('a canceled payment ends with its reason', () => {
  const canceled = fetched({ status: 'canceled', cancellationReason: 'expired' })
  expect(transition(known('pending'), canceled, shop)).toEqual({
    ...none,
    status: 'canceled',
    reason: 'expired',
    isOpen: false,
  })
})

test.each(['pending', 'waiting_for_capture', 'canceled'] as const)(
  'a canceled payment keeps its reason, fetched as %s without one',
  (status) => {
    const canceled = { ...known('canceled'), reason: 'expired' }
    expect(transition(canceled, fetched({ status }), shop)).toMatchObject({
      status: 'canceled',
      reason: 'expired',
    })
  },
)

test('a payment is topped up when it is first seen to have succeeded, and never again', () => {
  const first = transition(known('pending'), fetched(), shop)
  expect(first).toEqual({ ...none, status: 'succeeded', topUp: true, isOpen: false })
  expect(transition(known('succeeded'), fetched(), shop)).toEqual({
    ...none,
    status: 'succeeded',
    isOpen: false,
  })
  expect(transition(known('succeeded'), fetched({ status: 'pending' }), shop)).toEqual({
    ...none,
    status: 'succeeded',
    isOpen: false,
  })
})

test('a payment that has succeeded and is not paid is put aside, and nothing of a posted one changes', () => {
  const unpaid = fetched({ isPaid: false })
  expect(transition(known('pending'), unpaid, shop)).toMatchObject({ difference: { kind: 'status' } })
  expect(transition(known('succeeded'), unpaid, shop)).toMatchObject({ status: 'succeeded', topUp: false })
})

test('a payment that we gave up before it was made is topped up all the same', () => {
  const never: KnownPayment = { ...known('canceled'), providerId: null }
  expect(transition(never, fetched(), shop)).toMatchObject({ status: 'succeeded', topUp: true })
})

test('each refund is posted once, and the status follows their sum', () => {
  const part = transition(known('succeeded'), fetched({}, [refundOf('a', 40n)]), shop)
  expect(part).toMatchObject({
    status: 'partially_refunded',
    refunded: 40n,
    refunds: [{ id: null, amount: 40n }],
  })
  const booked = { id: 'r', providerId: 'a', amount: nanoRub(40n), status: 'succeeded' } as const
  const rest = transition(
    known('partially_refunded', [booked]),
    fetched({}, [refundOf('a', 40n), refundOf('b', 60n)]),
    shop,
  )
  expect(rest).toMatchObject({ status: 'refunded', refunded: 100n, refunds: [{ providerId: 'b' }] })
})

test('a refund that is under way leaves the payment open, and is ours by the id that we gave it', () => {
  const asked = { id: 'r', providerId: null, amount: nanoRub(40n), status: 'pending' } as const
  const pending = refundOf('a', 40n, { refundId: 'r', status: 'pending' })
  expect(transition(known('succeeded', [asked]), fetched({}, [pending]), shop)).toMatchObject({
    status: 'succeeded',
    refunded: 0n,
    isOpen: true,
    refunds: [{ id: 'r', providerId: 'a', status: 'pending' }],
  })
})

test('a payment that was paid and refunded unseen is topped up and refunded', () => {
  expect(transition(known('pending'), fetched({}, [refundOf('a', 100n)]), shop)).toMatchObject({
    status: 'refunded',
    topUp: true,
    refunded: 100n,
  })
})

test.each([
  ['shop', { shopId: '2' }],
  ['shop', { shopId: undefined }],
  ['test', { isTest: true }],
  ['payment_id', { paymentId: 'another' }],
  ['provider_id', { id: 'another' }],
  ['currency', { currency: 'USD' }],
  ['amount', { amount: nanoRub(101n) }],
  ['amount', { amount: undefined }],
] as const)('a payment of another %s is put aside', (kind, fields) => {
  expect(transition(known('pending'), fetched(fields), shop)).toMatchObject({ difference: { kind } })
})

test.each([
  ['succeeded', 'canceled'],
  ['canceled', 'succeeded'],
] as const)('%s does not become %s', (before, status) => {
  expect(transition(known(before), fetched({ status }), shop)).toMatchObject({
    difference: { kind: 'status' },
  })
})

test('refunds above the amount are put aside', () => {
  const refunds = [refundOf('a', 60n), refundOf('b', 60n)]
  expect(transition(known('succeeded'), fetched({}, refunds), shop)).toMatchObject({
    difference: { kind: 'refund' },
  })
})
