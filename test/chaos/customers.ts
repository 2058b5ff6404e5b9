import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { type KeyLimits, readKeyStates } from '#core/keys/key-state'
import { blockKey, setLimits, unblockKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { type Customer, createCustomer } from '../support/customer.ts'
import { makePayer, type Payer } from '../support/payer.ts'
import { inTestScope } from '../support/scope.ts'
import { createRandom, drawWhole } from './seeded-random.ts'
import { until } from './until.ts'

/**
 * Who sends requests. `rich` never runs out; `poor` lives from one small top-up to the next; `limited` has
 * limits that change; `weekly` has a budget of its key, and `monthly` of its organization, that ends soon; `blocked` is
 * blocked and unblocked; `payer` has what is paid at the test payment provider, less refunds; `watcher` checks whether
 * the gateways serve.
 */
type Kind = 'rich' | 'poor' | 'limited' | 'weekly' | 'monthly' | 'blocked' | 'payer' | 'watcher'

export type ChaosCustomer = Customer & {
  readonly kind: Kind
  /** Who signs in for it. */
  readonly person: Payer
  creditedNano: bigint
}

const rub = 1_000_000_000n
/** 4 million rubles is the most that Redis compares exactly. */
const richNano = 1_000_000n * rub
const unlimited: KeyLimits = { rpm: 1_000_000, tpm: 1_000_000_000 }
/** A request holds about 0.2 ₽: a few of them, then a 402 or a 429. */
const poorNano = rub

/** Of a week or a month: spent within a short storm. */
export const budgetNano = nanoRub(rub / 2n)

const kinds: readonly Kind[] = [
  'rich',
  'rich',
  'weekly',
  'monthly',
  'poor',
  'poor',
  'poor',
  'limited',
  'blocked',
  'payer',
  'payer',
  'watcher',
]

/** Longest time until Redis has new keys, on a machine that does much else. */
const programMsMax = 60_000

/**
 * Creates the customers, and waits until gateways know their keys: from here on none of their requests may
 * get 401.
 */
export async function createCustomers(pool: Pool): Promise<readonly ChaosCustomer[]> {
  const customers = await Promise.all(
    kinds.map(async (kind) => {
      const creditedNano = kind === 'payer' ? 0n : kind === 'poor' ? poorNano : richNano
      const customer = await createCustomer(pool, { ...unlimited, balanceNano: creditedNano })
      await setBudget(pool, kind, customer)
      const person = await makePayer(pool, { organizationId: customer.organizationId })
      return { ...customer, kind, person, creditedNano }
    }),
  )
  const keyIds = customers.map(({ keyId }) => keyId)
  const areKnown = async () => (await readKeyStates(pool, keyIds)).every(({ isProjected }) => isProjected)
  if (!(await until(areKnown, { withinMs: programMsMax }))) throw new Error('the keys never reached Redis')
  return customers
}

async function setBudget(pool: Pool, kind: Kind, { keyId, organizationId }: Customer): Promise<void> {
  if (kind === 'weekly') {
    const limits = { ...unlimited, weeklyBudgetNano: budgetNano }
    await inTestScope(pool, (client) => setLimits(client, keyId, limits))
  }
  if (kind === 'monthly')
    await pool.query('update organizations set monthly_budget_nano = $2 where id = $1', [
      organizationId,
      budgetNano,
    ])
}

/** Tops up, changes limits, blocks and unblocks until it is stopped. */
export type Changes = {
  /** How often each was done. */
  readonly counts: Readonly<Record<'topUps' | 'limits' | 'blocks', number>>
  /** Lets the change under way end, however long Postgres takes, and lifts every block. */
  stop(): Promise<void>
}

const everyMs = [200, 800] as const
/** Longest time that Postgres is unavailable, and more. */
const changeMsMax = 120_000

export function startChanges(pool: Pool, customers: readonly ChaosCustomer[], seed: number): Changes {
  const random = createRandom(seed ^ 0x5f3759df)
  const counts = { topUps: 0, limits: 0, blocks: 0 }
  const of = (kind: Kind) => customers.filter((customer) => customer.kind === kind)
  const stopping = new AbortController()

  async function topUp(customer: ChaosCustomer): Promise<void> {
    const amount = BigInt(drawWhole(random, 1, 8)) * 100_000_000n
    const refId = randomUUID()
    const { organizationId } = customer
    await persist(() =>
      inTestScope(pool, (client) =>
        credit(client, { organizationId, kind: 'adjustment', refId, amount: nanoRub(amount) }),
      ),
    )
    customer.creditedNano += amount
    counts.topUps += 1
  }

  async function changeLimits(customer: ChaosCustomer): Promise<void> {
    const limits: KeyLimits = {
      rpm: drawWhole(random, 20, 400),
      tpm: drawWhole(random, 10_000, 200_000),
      dailyBudgetNano: random() < 0.5 ? null : nanoRub(BigInt(drawWhole(random, 1, 60)) * rub),
    }
    await persist(() => inTestScope(pool, (client) => setLimits(client, customer.keyId, limits)))
    counts.limits += 1
  }

  async function block(customer: ChaosCustomer): Promise<void> {
    const change = random() < 0.5 ? blockKey : unblockKey
    await persist(() => inTestScope(pool, (client) => change(client, customer.keyId, 'owner')))
    counts.blocks += 1
  }

  async function change(): Promise<void> {
    const draw = random()
    const poor = of('poor')
    const one = poor[drawWhole(random, 0, poor.length - 1)]
    if (draw < 0.7 && one !== undefined) return await topUp(one)
    for (const customer of of(draw < 0.85 ? 'limited' : 'blocked'))
      await (draw < 0.85 ? changeLimits : block)(customer)
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await pause(drawWhole(random, ...everyMs), undefined, { signal: stopping.signal }).catch(
        () => undefined,
      )
      await change()
    }
    for (const customer of of('blocked'))
      await persist(() => inTestScope(pool, (client) => unblockKey(client, customer.keyId, 'owner')))
  }

  const ended = run()
  ended.catch(() => undefined) // reported by `stop`
  return {
    counts,
    stop() {
      stopping.abort()
      return ended
    },
  }
}

/** Every change may be made twice: what Postgres did with the first try is unknown. */
async function persist(change: () => Promise<unknown>): Promise<void> {
  const makeIt = async () => {
    await change()
    return true
  }
  const isMade = await until(makeIt, { withinMs: changeMsMax })
  if (!isMade) throw new Error('Postgres took no change for two minutes')
}
