import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import {
  clockContract,
  declineContract,
  deliverContract,
  faultContract,
  finishContract,
  type Journal,
  payContract,
  refundContract,
  revokeContract,
  settingsContract,
} from '../control-contracts.ts'
import type { Books } from './books.ts'
import type { Clock } from './clock.ts'
import type { Faults } from './faults.ts'
import { jsonOf } from './json.ts'
import type { Notifier } from './notifier.ts'
import { refundBodyOf } from './payment.ts'
import { errorBodyOf, isRefusal, type Refusal } from './refusal.ts'
import { read } from './request-contracts.ts'
import { rubOf } from './rub.ts'

export type ControlDeps = {
  readonly books: Books
  readonly notifier: Notifier
  readonly faults: Faults
  readonly clock: Clock
  readonly requests: () => Journal['requests']
  /** Does everything that is due. */
  readonly wake: () => void
}

/** `/till`: controls for tests, which the real provider does not have. See `../control-contracts.ts`. */
export function addControlRoutes(app: FastifyInstance, deps: ControlDeps): void {
  const { books, notifier, faults, clock } = deps

  /** A command with a body. */
  function add<T extends z.ZodType<object>>(
    method: 'POST' | 'PATCH',
    url: string,
    contract: T,
    work: (body: z.infer<T>, id: string) => object | Promise<object>,
  ): void {
    app.route({
      method,
      url: `/till/${url}`,
      async handler(request, reply) {
        const json = jsonOf(request.body)
        const body = isRefusal(json) ? json : read(contract, json.value)
        const answer = isRefusal(body) ? body : await work(body, idOf(request))
        deps.wake()
        return isRefusal(answer) ? reply.code(answer.refused).send(errorBodyOf(answer)) : reply.send(answer)
      },
    })
  }

  app.get('/till/journal', () => journalOf(deps))
  app.delete('/till/faults', () => {
    faults.clear()
    return {}
  })
  add('POST', 'faults', faultContract, (fault) => (faults.add(fault) ? {} : tooManyFaults))
  add('PATCH', 'settings', settingsContract, (settings) => {
    books.set(settings)
    books.setSavedCards(settings)
    notifier.set(settings)
    return {}
  })
  add('POST', 'clock', clockContract, ({ forwardMs }) => {
    clock.moveForward(forwardMs)
    return { now: new Date(clock.now()).toISOString() }
  })
  add('POST', 'payments/:id/pay', payContract, ({ notification }, id) =>
    books.bodyOfAny(books.pay(id, notification === 'lost')),
  )
  add('POST', 'payments/:id/decline', declineContract, ({ reason }, id) =>
    books.bodyOfAny(books.decline(id, reason)),
  )
  add('POST', 'payments/:id/refund', refundContract, ({ amount }, id) => {
    const refund = refundInConsole(books, id, amount)
    return isRefusal(refund) ? refund : refundBodyOf(refund)
  })
  add('POST', 'payments/:id/revoke-method', revokeContract, (_, id) =>
    books.bodyOfAny(books.revokeMethod(id)),
  )
  add('POST', 'refunds/:id/finish', finishContract, ({ status }, id) => {
    const refund = books.finishRefund(id, status)
    return isRefusal(refund) ? refund : refundBodyOf(refund)
  })
  add('POST', 'notifications/:id/deliver', deliverContract, async ({ copies, to }, id) => {
    const statuses = await notifier.deliver(id, copies, to)
    return statuses === undefined ? notificationNotFound : { statuses }
  })
}

/**
 * A refund that the shop made in the console, not by the API.
 * @param amount undefined: the remaining amount
 */
export function refundInConsole(books: Books, paymentId: string, amount: string | undefined) {
  const payment = books.find(paymentId)
  if (isRefusal(payment)) return payment
  const value = amount ?? rubOf(books.leftOf(payment))
  const request = { payment_id: paymentId, amount: { value, currency: 'RUB' as const }, metadata: {} }
  return books.refundPayment(request, payment.hasReceipt)
}

function journalOf({ books, notifier, clock, requests }: ControlDeps): Journal {
  books.cancelExpired()
  return {
    now: new Date(clock.now()).toISOString(),
    payments: books.payments().map(books.bodyOf),
    refunds: books.refunds().map(refundBodyOf),
    notifications: notifier
      .list()
      .map(({ id, event, objectId, state, statuses }) => ({ id, event, objectId, state, statuses })),
    requests: requests(),
  }
}

function idOf({ params }: FastifyRequest): string {
  return String((params as { id?: unknown }).id)
}

const tooManyFaults: Refusal = {
  refused: 429,
  description: 'Too many planned failures. Delete them first.',
}
const notificationNotFound: Refusal = {
  refused: 404,
  description: 'No such notification, or nowhere to send it',
}
