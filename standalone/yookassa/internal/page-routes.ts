import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Books } from './books.ts'
import { refundInConsole } from './control-routes.ts'
import { notFoundPage, paymentPage, paymentsPage } from './pages.ts'
import { confirmationUrlOf, type Payment, type Shop } from './payment.ts'
import { isRefusal } from './refusal.ts'
import { rubOf, rubPattern } from './rub.ts'

export type PageDeps = { readonly books: Books; readonly shop: Shop; readonly wake: () => void }

const queryContract = z.object({ orderId: z.string() })
const formContract = z.object({
  action: z.enum(['pay', 'pay_lost', 'decline', 'refund']),
  /** Users may write a comma. */
  amount: z
    .string()
    .transform((text) => text.trim().replace(',', '.'))
    .optional(),
})
const shownMax = 100

/** Pages for users: the list of payments, and a page for paying and refunding each. */
export function addPageRoutes(app: FastifyInstance, { books, shop, wake }: PageDeps): void {
  const find = (query: unknown) => {
    const { data } = queryContract.safeParse(query)
    const payment = data === undefined ? undefined : books.find(data.orderId)
    return payment === undefined || isRefusal(payment) ? undefined : payment
  }
  const show = (reply: FastifyReply, payment: Payment, notice?: string) =>
    sendPage(reply, paymentPage(payment, rubOf(books.leftOf(payment)), notice))

  app.get('/', (_request, reply) => {
    books.cancelExpired()
    const shown = books.payments().slice(-shownMax).toReversed()
    return sendPage(
      reply,
      paymentsPage(shown.map((payment) => ({ payment, url: confirmationUrlOf(payment.id, shop) }))),
    )
  })
  app.get('/checkout/payments/v2/contract', (request, reply) => {
    const payment = find(request.query)
    return payment === undefined ? sendPage(reply.code(404), notFoundPage()) : show(reply, payment)
  })
  app.post('/checkout/payments/v2/contract', (request, reply) => {
    const payment = find(request.query)
    if (payment === undefined) return sendPage(reply.code(404), notFoundPage())
    const { data: form } = formContract.safeParse(
      Object.fromEntries(new URLSearchParams(String(request.body ?? ''))),
    )
    const done = form === undefined ? undefined : act(books, payment, form)
    wake()
    if (done === undefined || isRefusal(done)) return show(reply.code(409), payment, 'Не получилось.')
    if (form?.action === 'refund') return reply.redirect(request.url, 303)
    return reply.redirect(payment.returnUrl ?? request.url, 303)
  })
}

function act(books: Books, { id }: Payment, { action, amount = '' }: z.infer<typeof formContract>) {
  if (action === 'decline') return books.decline(id, 'general_decline')
  if (action !== 'refund') return books.pay(id, action === 'pay_lost')
  return rubPattern.test(amount) ? refundInConsole(books, id, amount) : undefined
}

function sendPage(reply: FastifyReply, body: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    )
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff')
    .send(body)
}
