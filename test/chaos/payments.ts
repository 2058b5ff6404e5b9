import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Payer } from '../support/payer.ts'
import { administrationUrl, appUrl } from '../support/web-settings.ts'
import type { Slot } from './cluster.ts'
import type { ChaosCustomer } from './customers.ts'
import { createRandom, drawWhole } from './seeded-random.ts'
import type { ChaosTill } from './till.ts'
import { until } from './until.ts'

type Person = Pick<Payer, 'cookie'>

/**
 * What a customer wanted to pay, did at the test payment provider, and wanted refunded: the expected ledger
 * in the end.
 */
export type Intent = {
  readonly organizationId: string
  readonly amountRub: number
  /** Ours; `undefined`: the cabinet has not answered yet. */
  paymentId: string | undefined
  /** `left`: the payer went away. */
  deed: 'asked' | 'paid' | 'declined' | 'left'
  /** Given back by an administrator, by our id; `null`: in the provider's console. */
  readonly refunds: { readonly id: string | null; readonly amountRub: number }[]
}

export type Payments = {
  readonly intents: readonly Intent[]
  /** Who gave up, and why. */
  readonly failures: readonly string[]
  /** Begins no more; resolves once every caller has finished, or has given up. */
  stop(): Promise<void>
}

type Deps = {
  readonly web: Slot
  readonly administration: Slot
  readonly till: ChaosTill
  readonly customers: readonly ChaosCustomer[]
  readonly administrator: Person
  readonly seed: number
}

const everyMs = [300, 1_500] as const
/** Payers who are under way at a time. */
const openMax = 8
/** Longest wait of any customer: a call whose outcome is unknown is repeated after a minute. */
const patienceMs = 180_000
const askEveryMs = 300
const askMsMax = 5_000

/** People pay, decline, go away, come back or do not, and get it back, until it is stopped. */
export function startPayments(deps: Deps): Payments {
  const random = createRandom(deps.seed ^ 0x2545f491)
  const payers = deps.customers.filter(({ kind }) => kind === 'payer')
  const intents: Intent[] = []
  const open = new Set<Promise<void>>()
  const failures: string[] = []
  const stopping = new AbortController()

  function begin(): void {
    const payer = payers[drawWhole(random, 0, payers.length - 1)]
    // Half of them are of an amount that earns the welcome.
    const amountRub = random() < 0.5 ? drawWhole(random, 100, 300) : drawWhole(random, 1_000, 1_500)
    const draws = { deed: random(), notification: random(), refund: random(), console: random() }
    if (payer === undefined || open.size >= openMax) return
    const { organizationId, person } = payer
    const intent: Intent = { organizationId, amountRub, paymentId: undefined, deed: 'asked', refunds: [] }
    intents.push(intent)
    const paying = pay(deps, person, intent, draws)
      .catch((error) => void failures.push(`a payer gave up: ${error}`))
      .finally(() => open.delete(paying))
    open.add(paying)
  }

  async function run(): Promise<void> {
    for (const { signal } = stopping; !signal.aborted; begin())
      await pause(drawWhole(random, ...everyMs), undefined, { signal }).catch(() => undefined)
  }

  const ended = run()
  return {
    intents,
    failures,
    async stop() {
      stopping.abort()
      await ended
      await Promise.all(open)
    },
  }
}

/** What one payer does, each in [0, 1). */
type Draws = Readonly<Record<'deed' | 'notification' | 'refund' | 'console', number>>

async function pay(deps: Deps, payer: Person, intent: Intent, draws: Draws): Promise<void> {
  const { web, till } = deps
  const made = await insist(web, payer, '/payments', { amount_rub: String(intent.amountRub) }, isMade)
  intent.paymentId = made.id
  const refreshed = (isDone: (answer: Answer) => boolean) =>
    insist(web, payer, `/payments/${made.id}/refresh`, {}, isDone)
  // The payer waits for the page to pay at, unless he has it already.
  const { payAt } = made.payAt === null ? await refreshed((answer) => answer.payAt !== null) : made
  const providerId = new URL(payAt ?? '').searchParams.get('orderId') ?? ''
  if (draws.deed < 0.1) {
    intent.deed = 'left'
  } else if (draws.deed < 0.2) {
    await till.decline(providerId)
    intent.deed = 'declined'
  } else {
    const isLost = draws.notification < 0.3
    await till.pay(providerId, isLost ? 'lost' : 'usual')
    intent.deed = 'paid'
    // Half of those whose notification is lost come back to the page that asks; the others leave it to the poller.
    if (isLost && draws.notification < 0.15) await refreshed(isPaid)
    const parts =
      draws.refund < 0.25 ? [intent.amountRub] : draws.refund < 0.5 ? [1, intent.amountRub - 1] : []
    if (draws.console < 0.3) await refundInConsole(till, providerId, intent, parts)
    else if (parts.length > 0) {
      await refreshed(isPaid) // an administrator sees what was paid before he gives it back
      await refund(deps, intent, parts)
    }
  }
}

async function refund(
  { administration, administrator }: Deps,
  intent: Intent,
  parts: readonly number[],
): Promise<void> {
  for (const amountRub of parts) {
    const body = { amount_rub: String(amountRub), reason: 'asked for by the customer' }
    const path = `/admin/payments/${intent.paymentId}/refunds`
    const made = await insist(administration, administrator, path, body, isMade)
    intent.refunds.push({ id: made.id, amountRub })
  }
}

async function refundInConsole(
  till: ChaosTill,
  providerId: string,
  intent: Intent,
  parts: readonly number[],
): Promise<void> {
  for (const amountRub of parts) {
    await till.refund(providerId, `${amountRub}.00`)
    intent.refunds.push({ id: null, amountRub })
  }
}

/** Asks again with the same key until it is answered like that: the web process may be anything. */
async function insist(
  web: Slot,
  person: Person,
  path: string,
  body: object,
  isDone: (answer: Answer) => boolean,
): Promise<Answer> {
  const key = randomUUID()
  const ask = async () => {
    const answer = await call(web, person, path, body, key)
    return isDone(answer) && answer
  }
  const answer = await until(ask, { withinMs: patienceMs, everyMs: askEveryMs })
  if (answer === undefined) throw new Error(`${path} was not answered within ${patienceMs} ms`)
  return answer
}

const isMade = ({ status }: Answer) => status === 201

type Answer = {
  readonly status: number
  readonly id: string
  /** Where to pay; `null`: not known yet, or over. */
  readonly payAt: string | null
  readonly state: string
}

const isPaid = ({ state }: Answer) => ['succeeded', 'partially_refunded', 'refunded'].includes(state)

/** Makes everything that waits due now: no run waits minutes for its end. */
export async function makeAllDue(pool: Pool, till: ChaosTill): Promise<void> {
  for (const table of ['payments', 'refunds'])
    await pool.query(`update ${table} set next_call_at = now() where next_call_at > now()`)
  await pool.query('update payments set next_poll_at = now() where next_poll_at > now()')
  await pool.query(
    'update webhook_inbox set next_attempt_at = now() where processed_at is null and next_attempt_at > now()',
  )
  await till.repeatNotifications()
}

async function call(web: Slot, { cookie }: Person, path: string, body: object, key: string): Promise<Answer> {
  const url = `${web.process?.baseUrl.replace(/\/v1$/, '/api/v1')}${path}`
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(askMsMax),
    headers: {
      'content-type': 'application/json',
      'idempotency-key': key,
      cookie,
      origin: path.startsWith('/admin/') ? administrationUrl : appUrl,
      // Each customer has a separate address, and so separate throttles.
      'x-forwarded-for': addressOf(key),
    },
  })
  const { id, confirmation_url: payAt = null, status: state = '' } = (await response.json()) as Shown
  return { status: response.status, id: id ?? '', payAt, state: response.ok ? state : '' }
}

type Shown = { readonly id?: string; readonly confirmation_url?: string | null; readonly status?: string }

function addressOf(key: string): string {
  const [a = 0, b = 0, c = 0] = Buffer.from(key.slice(0, 6), 'hex')
  return `10.${a}.${b}.${c}`
}
