import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient } from '#core/audit/scope'
import type { Hint } from '#core/db/change-hints'
import { paymentsScope } from './internal/payments-scope.ts'

/** Asks the worker about payments, because the process of customers neither calls the provider nor posts anything. */
export type PaymentChecks = {
  /**
   * Lets the worker ask the provider about a payment now, and waits until it has: our row is then up to date.
   * `unavailable`: the provider or the worker has not answered within 9 s, or too many wait already.
   */
  ask(payment: { readonly id: string; readonly organizationId: string }): Promise<Outcome>
  /** Looks now. Without hints it looks every 3 s while a caller waits. */
  onHint(hint: Hint): void
}

type Outcome = 'answered' | 'unavailable'

type Waiter = {
  readonly outcome: Promise<Outcome>
  look(): Promise<void>
  end(outcome: Outcome): void
}

/** Longer than the worker gives the provider, so that its answer arrives. */
export const checkWaitMsMax = 9_000
const lookEveryMs = 3_000
const waitingMax = 200

/** One per process. */
export function createPaymentChecks(pool: Pool): PaymentChecks {
  const waiting = new Map<string, Waiter>()

  function wait(checkId: string, organizationId: string): Waiter {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const end = (outcome: Outcome) => {
      clearTimeout(timeout)
      clearInterval(looking)
      waiting.delete(checkId)
      resolve(outcome)
    }
    async function look(): Promise<void> {
      // while Postgres is unavailable the answer is unknown, and the wait is bounded
      const outcome = await readOutcome(pool, organizationId, checkId).catch(() => null)
      if (outcome !== null) end(outcome)
    }
    const timeout = setTimeout(() => end('unavailable'), checkWaitMsMax)
    const looking = setInterval(look, lookEveryMs)
    const waiter = { outcome: promise, look, end }
    waiting.set(checkId, waiter)
    return waiter
  }

  return {
    async ask({ id, organizationId }) {
      if (waiting.size >= waitingMax) return 'unavailable'
      const checkId = randomUUID()
      const waiter = wait(checkId, organizationId) // first, or its hint could come before
      try {
        await insertCheck(pool, { checkId, id, organizationId })
      } catch (error) {
        waiter.end('unavailable')
        throw error
      }
      return waiter.outcome
    },
    onHint(hint) {
      if (hint.kind === 'answered') void waiting.get(hint.id)?.look()
      if (hint.kind === 'everything') for (const waiter of waiting.values()) void waiter.look()
    },
  }
}

async function insertCheck(
  pool: Pool,
  check: { readonly checkId: string; readonly id: string; readonly organizationId: string },
): Promise<void> {
  const { checkId, id, organizationId } = check
  await inScope(pool, { ...paymentsScope, organizationId }, (client: ScopedClient) =>
    client.withoutAudit(
      'when to ask the provider again',
      'insert into payment_checks (id, payment_id) values ($1, $2)',
      [checkId, id],
    ),
  )
}

async function readOutcome(pool: Pool, organizationId: string, checkId: string): Promise<Outcome | null> {
  const { rows } = await inReadScope(pool, organizationId, (client) =>
    client.query<{ outcome: Outcome | null }>('select outcome from payment_checks where id = $1', [checkId]),
  )
  return rows[0]?.outcome ?? null
}
