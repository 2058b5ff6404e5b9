import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { aPassword, newEmail, registration, type Visitor, visitorOf } from '../support/cabinet.ts'
import { withPortForward } from './kubernetes.ts'
import { hosts } from './load.ts'
import { eventually, fullname, namespace } from './release.ts'
import { ingress } from './settings.ts'

export const cabinetUrl = `http://${hosts.cabinet}:${ingress.port}`
const demo = { namespace, service: `${fullname}-trial-services` } as const
const tillPort = 3002
const mailboxPort = 8025

export type Person = Visitor & {
  /** A POST that is not done twice. */
  once(path: string, body: object): ReturnType<Visitor['call']>
  balanceRub(): Promise<number>
}

/** A user who has registered through the ingress and confirmed their address by the link of the email. */
export async function signUp(): Promise<Person> {
  const visitor = visitorOf(cabinetUrl)
  const email = newEmail()
  expect((await visitor.post('/auth/register', registration({ email }))).status).toBe(202)
  const token = await tokenOfLetter(email)
  expect((await visitor.post('/auth/verify-email', { token })).status).toBe(204)
  expect((await visitor.post('/auth/login', { email, password: aPassword })).status).toBe(200)
  return Object.assign(visitor, {
    once: (path: string, body: object) =>
      visitor.call('POST', path, body, { 'idempotency-key': randomUUID() }),
    balanceRub: async () => Number((await visitor.get('/balance')).body.balance_rub),
  })
}

/** The token of the only email to this address. */
function tokenOfLetter(email: string): Promise<string> {
  return eventually(() =>
    withPortForward({ ...demo, port: mailboxPort }, async (port) => {
      const answer = await fetch(`http://127.0.0.1:${port}/dev/mailbox.json`)
      const letters = (await answer.json()) as { to: string; links: string[] }[]
      const [link = ''] = letters.find(({ to }) => to === email)?.links ?? []
      expect(link).toContain('#token=')
      return link.replace(/^.*#token=/, '')
    }),
  )
}

/** Starts a payment; returns the test payment provider's page for it. */
export async function beginPayment(person: Person, amountRub: string): Promise<URL> {
  const { status, body } = await person.once('/payments', { amount_rub: amountRub })
  expect(status).toBe(201)
  return new URL(body.confirmation_url)
}

/** Clicks "pay" on the test payment provider's page, once it is available. */
export function pay(page: URL): Promise<void> {
  return eventually(() =>
    withPortForward({ ...demo, port: tillPort }, async (port) => {
      const paid = await fetch(`http://127.0.0.1:${port}${page.pathname}${page.search}`, {
        method: 'POST',
        body: new URLSearchParams({ action: 'pay' }),
        redirect: 'manual',
      })
      expect(paid.status).toBe(303)
    }),
  )
}

/** Payments that the test payment provider lists as paid, by its ids. */
export function paidAtTill(): Promise<readonly string[]> {
  return eventually(() =>
    withPortForward({ ...demo, port: tillPort }, async (port) => {
      const journal = await fetch(`http://127.0.0.1:${port}/till/journal`)
      const { payments } = (await journal.json()) as { payments: { id: string; status: string }[] }
      return payments.filter(({ status }) => status === 'succeeded').map(({ id }) => id)
    }),
  )
}
