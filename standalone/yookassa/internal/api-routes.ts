import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Fault, Journal, Operation } from '../control-contracts.ts'
import type { Books } from './books.ts'
import type { Faults } from './faults.ts'
import { digestOf, type Idempotence } from './idempotence.ts'
import { jsonOf } from './json.ts'
import { isWithin, pageOf, timesOf } from './list-page.ts'
import { type Payment, type Refund, refundBodyOf, type Shop } from './payment.ts'
import { errorBodyOf, isRefusal, type Refusal } from './refusal.ts'
import {
  cancelPaymentContract,
  capturePaymentContract,
  createPaymentContract,
  createRefundContract,
  illegalReceipt,
  isReceiptOf,
  listPaymentsContract,
  listRefundsContract,
  type Receipt,
  read,
} from './request-contracts.ts'
import { kopecksOf } from './rub.ts'

export type ApiDeps = {
  readonly shop: Shop
  readonly secretKey: string
  /** Whether the provider has allowed the shop to save and charge cards. */
  readonly savesCards: boolean
  /** Whether payments need a receipt. */
  readonly receipts: 'required' | 'optional'
  readonly books: Books
  readonly idempotence: Idempotence
  readonly faults: Faults
  readonly now: () => number
  /** Gets each authorized request. */
  readonly note: (request: Journal['requests'][number]) => void
}

type Answer = { readonly status: number; readonly body: object }

const keyLengthMax = 64
/** Documented for bank cards, in kopecks. */
const amountMin = 100n
const amountMax = 35_000_000n
/** The payment methods of a test shop. */
const testMethods = ['bank_card', 'yoo_money']

const isKnownPath = /^\/v3\/(?:(?:payments|refunds)(?:\/[^/]+)?|payments\/[^/]+\/(?:capture|cancel))$/

/** The provider's API, `/v3`. */
export function addApiRoutes(root: FastifyInstance, deps: ApiDeps): void {
  void root.register(
    (app, _options, done) => {
      app.addHook('onRequest', async (request, reply) => {
        if (!isShop(request, deps)) return sendAnswer(reply, answerOf(wrongCredentials))
      })
      app.setNotFoundHandler((request, reply) => {
        // The documentation defines no body for a wrong method or a wrong type.
        if (isKnownPath.test(request.url.replace(/\?.*/, ''))) return reply.code(405).send()
        return sendAnswer(reply, answerOf({ refused: 404, description: 'Resource is not found' }))
      })
      app.setErrorHandler((error: FastifyError, _request, reply) => {
        const { statusCode = 500 } = error
        return statusCode === 500 ? sendAnswer(reply, answerOf(unknownResult)) : reply.code(statusCode).send()
      })
      addPaymentRoutes(app, deps)
      addRefundRoutes(app, deps)
      done()
    },
    { prefix: '/v3' },
  )
}

function addPaymentRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { books } = deps
  const serve = createServe(deps)

  app.post('/payments', (request, reply) =>
    serve.post('create_payment', request, reply, createPaymentContract, (body) => {
      const fault = faultOfPayment(body, deps)
      return fault ?? books.bodyOfAny(books.create(body))
    }),
  )
  app.get('/payments', (request, reply) =>
    serve.get('list_payments', request, reply, () => {
      const query = read(listPaymentsContract, request.query)
      if (isRefusal(query)) return query
      books.cancelExpired()
      const passes = ({ status, method, createdAtMs, capturedAtMs }: Payment) =>
        status === (query.status ?? status) &&
        method === (query.payment_method ?? method) &&
        isWithin(createdAtMs, timesOf(query, 'created_at')) &&
        isWithin(capturedAtMs, timesOf(query, 'captured_at'))
      return listBodyOf(pageOf(books.payments().toReversed(), passes, query), books.bodyOf)
    }),
  )
  app.get('/payments/:id', (request, reply) =>
    serve.get('get_payment', request, reply, () => books.bodyOfAny(books.find(idOf(request)))),
  )
  app.post('/payments/:id/capture', (request, reply) =>
    serve.post('capture_payment', request, reply, capturePaymentContract, ({ amount, receipt }) => {
      const payment = books.find(idOf(request))
      if (isRefusal(payment)) return payment
      const wanted = amount?.value ?? payment.amount
      const isNeeded = deps.receipts === 'required' && wanted !== payment.amount
      return (
        faultOfReceipt(wanted, receipt, isNeeded) ?? books.bodyOfAny(books.capture(payment.id, amount?.value))
      )
    }),
  )
  app.post('/payments/:id/cancel', (request, reply) =>
    serve.post('cancel_payment', request, reply, cancelPaymentContract, () =>
      books.bodyOfAny(books.cancel(idOf(request))),
    ),
  )
}

function addRefundRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { books } = deps
  const bodyOf = (refund: Refund | Refusal) => (isRefusal(refund) ? refund : refundBodyOf(refund))
  const serve = createServe(deps)

  app.post('/refunds', (request, reply) =>
    serve.post('create_refund', request, reply, createRefundContract, (body) => {
      const payment = books.find(body.payment_id)
      const isPart = !isRefusal(payment) && payment.amount !== body.amount.value
      const fault = faultOfReceipt(body.amount.value, body.receipt, deps.receipts === 'required' && isPart)
      // A full refund uses the receipt of its payment.
      const hasReceipt = body.receipt !== undefined || (!isRefusal(payment) && payment.hasReceipt)
      return fault ?? bodyOf(books.refundPayment(body, hasReceipt))
    }),
  )
  app.get('/refunds', (request, reply) =>
    serve.get('list_refunds', request, reply, () => {
      const query = read(listRefundsContract, request.query)
      if (isRefusal(query)) return query
      const passes = ({ status, paymentId, createdAtMs }: Refund) =>
        status === (query.status ?? status) &&
        paymentId === (query.payment_id ?? paymentId) &&
        isWithin(createdAtMs, timesOf(query, 'created_at'))
      return listBodyOf(pageOf(books.refunds().toReversed(), passes, query), refundBodyOf)
    }),
  )
  app.get('/refunds/:id', (request, reply) =>
    serve.get('get_refund', request, reply, () => bodyOf(books.findRefund(idOf(request)))),
  )
}

/** Carries out requests: once per idempotency key, and affected by faults. */
function createServe({ idempotence, faults, now, note }: ApiDeps) {
  async function serve(
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
    work: (fault: Fault | undefined) => Answer,
  ) {
    const fault = faults.take(operation)
    const answer = isWorkDone(fault) ? work(fault) : undefined
    const given = answerUnder(fault, answer)
    note({ operation, idempotenceKey: keyOf(request), status: given?.status ?? 0 })
    if (fault !== undefined && fault.delayMs > 0) await sleep(fault.delayMs)
    if (given !== undefined) return sendAnswer(reply, given)
    reply.hijack() // no response until the client gives up
  }

  return {
    get: (operation: Operation, request: FastifyRequest, reply: FastifyReply, work: () => object) =>
      serve(operation, request, reply, () => answerOf(work())),
    post<T extends z.ZodType<object>>(
      operation: Operation,
      request: FastifyRequest,
      reply: FastifyReply,
      contract: T,
      work: (body: z.infer<T>) => object,
    ) {
      return serve(operation, request, reply, (fault) => {
        const key = keyOf(request)
        const keyFault = faultOfKey(key)
        if (key === undefined || keyFault !== undefined) return answerOf(keyFault ?? missingKey)
        const json = jsonOf(request.body)
        if (isRefusal(json)) return answerOf(json)
        const digest = digestOf(request.url, json.value)
        const first = idempotence.find(key, now())
        if (first !== undefined && first.digest !== digest) return answerOf(duplicatedKey)
        if (first !== undefined) return answerOf(first.body, first.readyAtMs - now())
        const body = read(contract, json.value)
        const answer = isRefusal(body) ? body : work(body)
        if (isRefusal(answer)) return answerOf(answer)
        const waitMs = fault?.answer === 'processing' ? fault.retryAfterMs : 0
        idempotence.add({ key, digest, body: answer, atMs: now(), readyAtMs: now() + waitMs })
        return answerOf(answer, waitMs)
      })
    },
  }
}

function isWorkDone(fault: Fault | undefined): boolean {
  if (fault === undefined || fault.answer === 'usual' || fault.answer === 'processing') return true
  return fault.answer !== 'too_many_requests' && fault.work === 'done'
}

/** The final response; undefined: none. */
function answerUnder(fault: Fault | undefined, due: Answer | undefined): Answer | undefined {
  if (fault?.answer === 'silence') return undefined
  if (fault?.answer === 'too_many_requests') return answerOf(tooManyRequests)
  if (fault?.answer === 'internal_error' || due === undefined) return answerOf(unknownResult)
  if (fault?.answer === 'processing' && due.status === 200) return processing(fault.retryAfterMs)
  return due
}

/** @param waitMs positive while the request is being processed */
function answerOf(body: object, waitMs = 0): Answer {
  if (isRefusal(body)) return { status: body.refused, body: errorBodyOf(body) }
  return waitMs > 0 ? processing(waitMs) : { status: 200, body }
}

function processing(retryAfterMs: number): Answer {
  const description = 'Request accepted, but not processed yet'
  return { status: 202, body: { type: 'processing', description, retry_after: retryAfterMs } }
}

function sendAnswer(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body))
}

function isShop({ headers }: FastifyRequest, { shop, secretKey }: ApiDeps): boolean {
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(' ')
  const given = Buffer.from(credentials, 'base64').toString('utf8')
  return scheme.toLowerCase() === 'basic' && given === `${shop.shopId}:${secretKey}`
}

function keyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotence-key']
  return typeof key === 'string' && key !== '' ? key : undefined
}

function faultOfKey(key: string | undefined): Refusal | undefined {
  if (key === undefined) return missingKey
  return key.length > keyLengthMax ? longKey : undefined
}

function idOf({ params }: FastifyRequest): string {
  return String((params as { id?: unknown }).id)
}

function faultOfPayment(
  body: z.infer<typeof createPaymentContract>,
  { shop, receipts, savesCards }: ApiDeps,
) {
  const kopecks = kopecksOf(body.amount.value)
  if (kopecks < amountMin || kopecks > amountMax) return amountOutOfRange
  if (!savesCards && (body.save_payment_method === true || body.payment_method_id !== undefined))
    return noSavedCards
  if (shop.isTest && !testMethods.includes(body.payment_method_data?.type ?? 'bank_card'))
    return methodUnavailable
  return faultOfReceipt(body.amount.value, body.receipt, receipts === 'required')
}

function faultOfReceipt(
  amount: string,
  receipt: Receipt | undefined,
  isNeeded: boolean,
): Refusal | undefined {
  const isRight = receipt === undefined ? !isNeeded : isReceiptOf(amount, receipt)
  return isRight ? undefined : illegalReceipt
}

function listBodyOf<T>(
  page: { readonly items: readonly T[]; readonly next: string | undefined } | undefined,
  bodyOf: (item: T) => object,
): object {
  if (page === undefined) return wrongCursor
  const { items, next } = page
  return { type: 'list', items: items.map(bodyOf), ...(next === undefined ? {} : { next_cursor: next }) }
}

// The descriptions for credentials, keys and receipts are the provider's own texts.
const wrongCredentials: Refusal = {
  refused: 401,
  description:
    'Error in shopId or secret key. Check their validity. You can reissue the key in the Merchant Profile',
  parameter: 'Authorization',
}
const missingKey: Refusal = {
  refused: 400,
  description: 'Idempotence key is missing',
  parameter: 'Idempotence-Key',
}
const longKey: Refusal = {
  refused: 400,
  description: 'Idempotence key is too long. Send the value in accordance with the documentation',
  parameter: 'Idempotence-Key',
}
const duplicatedKey: Refusal = {
  refused: 400,
  description: 'Idempotence key duplicated',
  parameter: 'Idempotence-Key',
}
const amountOutOfRange: Refusal = {
  refused: 400,
  description: 'Amount is out of range: from 1.00 to 350000.00',
  parameter: 'amount.value',
}
const noSavedCards: Refusal = {
  refused: 403,
  description: 'This store cannot make recurring payments. Contact the YooMoney manager to learn more',
}
const methodUnavailable: Refusal = {
  refused: 400,
  description: 'Payment method is not available',
  parameter: 'payment_method_data.type',
}
const wrongCursor: Refusal = { refused: 400, description: 'Cursor is incorrect', parameter: 'cursor' }
const tooManyRequests: Refusal = { refused: 429, description: 'Too many requests' }
const unknownResult: Refusal = { refused: 500, description: 'The result of the request is unknown' }
