import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Pool } from 'pg'
import { sealCredential } from '#core/catalog/credential-seal'
import { createPool } from '#core/db/pool'
import { revokeKey } from '#core/keys/key-store'
import { readBalance } from '#core/ledger/balance'
import { connectRedis, type RedisConnection } from '#core/redis/redis-connection'
import { chargesName, shardOf, shardPrefix } from '#core/redis/shard'
import { startRedis } from '#standalone/redis'
import { createModel, createProvider } from '../../support/catalog.ts'
import { type Customer, createCustomer } from '../../support/customer.ts'
import { type Process, secrets, startProcess } from '../../support/processes.ts'
import { inTestScope } from '../../support/scope.ts'
import type { AbuseCase, AttackResult, Books, Target } from '../abuse-case.ts'
import type { Order, Report } from '../attack-thread.ts'
import { providerCredential } from './hostile-answers.ts'

export type AbuseSystem = {
  /** Under attack; a new one where the last has ended. */
  gateway(): Promise<Process>
  readonly good: { readonly key: string; readonly model: string }
  customersOf(abuse: AbuseCase): ReadonlyMap<string, Customer>
  attack(name: string, target: Target): Promise<AttackResult>
  /** Waits until nothing of the customers of a case is under way. */
  readBooks(abuse: AbuseCase): Promise<Readonly<Record<string, Books>>>
  stop(): Promise<void>
}

const goodModel = 'abuse/good'
const timeouts = { requestMs: 30_000, firstByteMs: 10_000, streamIdleMs: 5_000 }
/** Reached by a case, and with room for all others. */
const connectionsMax = 1_000
const settleTimeoutMs = 20_000
/** An attack ends by itself; one that does not ends here. */
const overtimeMs = 45_000

/** Starts all that is attacked, with the customers and models of these cases. Of Postgres only a migrated database is needed. */
export async function startAbuseSystem(
  databaseUrl: string,
  cases: readonly AbuseCase[],
): Promise<AbuseSystem> {
  const pool = createPool({ databaseUrl, applicationName: 'abuse', connectionCountMax: 8 })
  const redis = await startRedis({ appendonly: 'no' })
  const connection = connectRedis(redis.url, { name: 'abuse', timeoutMs: 5_000 })
  const attacker = await startAttacker()
  const goodProvider = await startProcess('test/bench/upstream.ts', {})
  await fillCatalog(pool, goodProvider.baseUrl, attacker.providerUrl, cases)
  const good = await createCustomer(pool, { balanceNano: 10n ** 15n, ...unlimited })
  const customers = await createCustomers(pool, cases)
  const lease = { RENEW_EVERY_MS: '1000', LEASE_MS: '4000' }
  const env = { ...secrets, ...lease, REDIS_URL: redis.url, LOG_LEVEL: 'info' }
  const worker = await startProcess('worker/main.ts', {
    ...env,
    DATABASE_URL: databaseUrl,
    WORKER_ADMIN_PORT: '0',
    WORKER_HOST: '127.0.0.1',
  })
  let gateway: Process | undefined

  async function startGateway(): Promise<Process> {
    const started = await startProcess('gateway/main.ts', {
      ...env,
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_CONNECTIONS_MAX: String(connectionsMax),
      UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
    })
    const others = cases.flatMap((abuse) => Object.keys(abuse.models ?? {}))
    await untilServed(started, good.key, [goodModel, ...others])
    return started
  }

  const customersOf = ({ name }: AbuseCase) => customers.get(name) ?? new Map<string, Customer>()

  return {
    async gateway() {
      if (gateway === undefined || gateway.hasEnded()) gateway = await startGateway()
      return gateway
    },
    good: { key: good.key, model: goodModel },
    customersOf,
    attack: attacker.attack,
    async readBooks(abuse) {
      const endsAtMs = performance.now() + settleTimeoutMs
      const read = async ([name, customer]: [string, Customer]): Promise<[string, Books]> => {
        for (;;) {
          const books = await findBooks(pool, connection, customer)
          if (books !== undefined) return [name, books]
          if (performance.now() > endsAtMs) throw new Error(`something of ${name} is still under way`)
          await pause(100)
        }
      }
      return Object.fromEntries(await Promise.all([...customersOf(abuse)].map(read)))
    },
    async stop() {
      await Promise.all([gateway?.kill(), worker.kill(), goodProvider.kill(), attacker.stop()])
      connection.close()
      await pool.end()
      await redis[Symbol.asyncDispose]()
    },
  }
}

/** `undefined` while something of a customer is under way. */
async function findBooks(
  pool: Pool,
  { ask }: RedisConnection,
  { organizationId }: Customer,
): Promise<Books | undefined> {
  const shard = shardOf(organizationId)
  const sums = await ask((client) =>
    client.hmget(`${shardPrefix(shard)}org:${organizationId}`, 'held', 'pending'),
  )
  const waiting = await ask((client) => client.xlen(chargesName(shard)))
  if (waiting > 0 || sums.some((nano) => BigInt(nano ?? 0) !== 0n)) return undefined
  const { rows } = await pool.query<{ cost: bigint }>(
    `select cost from requests where organization_id = $1 and record ->> 'outcome' <> 'never_started'`,
    [organizationId],
  )
  return { balanceNano: await readBalance(pool, organizationId), costsNano: rows.map(({ cost }) => cost) }
}

const unlimited = { rpm: 100_000_000, tpm: 2_000_000_000 }

async function startAttacker() {
  const thread = new Worker(new URL('../attack-thread.ts', import.meta.url))
  const next = async (): Promise<Report> => (await once(thread, 'message'))[0]
  const first = await next()
  if (!('providerUrl' in first)) throw new Error('the attack thread did not start')
  return {
    providerUrl: first.providerUrl,
    async attack(name: string, target: Target): Promise<AttackResult> {
      const late = pause(target.forMs + overtimeMs, undefined, { ref: false }).then(
        (): Report => ({
          failure: `the attack ${name} did not end`,
        }),
      )
      const reported = next()
      thread.postMessage({ name, target } satisfies Order)
      const report = await Promise.race([reported, late])
      if ('result' in report) return report.result
      throw new Error('failure' in report ? report.failure : 'the attack thread started twice')
    },
    stop: () => thread.terminate(),
  }
}

async function createCustomers(
  pool: Pool,
  cases: readonly AbuseCase[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, Customer>>> {
  const all = new Map<string, Map<string, Customer>>()
  for (const { name, customers = {} } of cases) {
    const own = new Map<string, Customer>()
    for (const [customerName, { isRevoked = false, ...limits }] of Object.entries(customers)) {
      const customer = await createCustomer(pool, { balanceNano: 10n ** 12n, ...unlimited, ...limits })
      if (isRevoked) await inTestScope(pool, (client) => revokeKey(client, customer.keyId))
      own.set(customerName, customer)
    }
    all.set(name, own)
  }
  return all
}

async function fillCatalog(
  pool: Pool,
  goodUrl: string,
  hostileUrl: string,
  cases: readonly AbuseCase[],
): Promise<void> {
  await createProvider(pool, { name: 'good', baseUrl: goodUrl })
  await createModel(pool, goodModel, 'good', { timeouts })
  // Each model has its own provider, because a provider that failed often cools down for a while.
  for (const [n, [model, { provider: kind = {}, ...fields }]] of cases
    .flatMap(({ models = {} }) => Object.entries(models))
    .entries()) {
    const provider = `hostile-${n}`
    const sealed = sealCredential(
      providerCredential,
      { provider, baseUrl: hostileUrl, header: 'authorization', caCertificates: undefined },
      [Buffer.from(secrets.CREDENTIALS_KEY, 'base64')],
    )
    await createProvider(pool, {
      name: provider,
      baseUrl: hostileUrl,
      auth: { type: 'Bearer', sealed },
      ...kind,
    })
    await createModel(pool, model, provider, { timeouts, ...fields })
  }
}

/** A cap that every priced model exceeds: no provider hears of it. */
const probe = { 'x-gateway-max-cost-rub': '0' }

async function untilServed(gateway: Process, key: string, models: readonly string[]): Promise<void> {
  const endsAtMs = performance.now() + 30_000
  for (const model of models)
    for (;;) {
      const { status } = await fetch(`${gateway.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...probe },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
      })
      if (status === 402) break
      if (performance.now() > endsAtMs) throw new Error(`${model} is not served: ${status}`)
      await pause(50)
    }
}
