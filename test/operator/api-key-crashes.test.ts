import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { hashKey, type KeySecret } from '#core/keys/key'
import { apiKeys, secrets } from '#operator/runtime/resources'
import { keyClusterOfThisFile, type Team, valuesOf } from '../support/api-key-cluster.ts'
import { type KeyOperator, type KeyOperatorOptions, startKeyOperator } from '../support/api-key-operator.ts'
import { pepper } from '../support/customer.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const { cluster, stack, client, createTeam, gatewayStatus } = await keyClusterOfThisFile()
const { pool, url: databaseUrl } = stack.database
const clusterId = randomUUID()

let gateway: Process
let team: Team
let operator: KeyOperator | undefined

beforeAll(async () => {
  ;[gateway] = await Promise.all([stack.startGateway(patient), stack.startWorker()])
  team = await createTeam('orphan')
  const { key } = await stack.createCustomer()
  await vi.waitFor(async () => expect(await gatewayStatus(gateway, key)).toBe(200), { timeout: 20_000 })
}, 120_000)

afterEach(async () => {
  await operator?.stop()
  operator = undefined
})

async function start(options: Partial<KeyOperatorOptions> = {}): Promise<KeyOperator> {
  operator = await startKeyOperator({ kubeConfig: cluster.kubeConfig, databaseUrl, clusterId, ...options })
  return operator
}

/** The next operator, after the one before has died. */
async function startAnew(options: Partial<KeyOperatorOptions> = {}): Promise<void> {
  await operator?.kill()
  await start(options)
}

const names = (count: number) => Array.from({ length: count }, () => `key-${randomUUID().slice(0, 8)}`)

async function textOf(name: string): Promise<string | undefined> {
  return valuesOf(await team.secret(`${name}-apikey`)).OPENAI_API_KEY
}

/** Looks again and again, until it is stopped, whether what a Secret holds opens a key. */
function watchSecrets(watched: readonly string[]) {
  let isStopped = false
  let lookCount = 0
  const dead: string[] = []
  const look = async () => {
    while (!isStopped)
      for (const name of watched) {
        const text = await textOf(name)
        if (text === undefined) continue
        const { rows } = await pool.query<{ live: boolean }>(
          `select c.revoked_at is null and coalesce(c.valid_until > now(), true) and k.revoked_at is null
                  and c.projected_version > 0 as live
             from api_key_credentials c join api_keys k on k.id = c.key_id where c.hash = $1`,
          [hashKey(text as KeySecret, pepper)],
        )
        lookCount++
        if (rows[0]?.live !== true) dead.push(name)
      }
  }
  const looking = look()
  return {
    async stop() {
      isStopped = true
      await looking
      expect(dead).toEqual([])
      expect(lookCount).toBeGreaterThan(0)
    },
  }
}

/** Each has one key, and a Secret whose text a gateway answers to; no text was left half delivered. */
async function expectWhole(made: readonly string[]): Promise<void> {
  for (const name of made) {
    const { OPENAI_API_KEY: text = '' } = await team.readyValues(name)
    expect(await gatewayStatus(gateway, text)).toBe(200)
  }
  const { rows } = await pool.query<{ name: string; keys: number; live: number; undelivered: number }>(
    `select k.name, count(distinct k.id)::int as keys,
            count(*) filter (where c.revoked_at is null and c.valid_until is null)::int as live,
            count(*) filter (where c.revoked_at is null and c.delivered_at is null)::int as undelivered
       from api_keys k join api_key_credentials c on c.key_id = k.id where k.name = any($1) group by k.name`,
    [made],
  )
  const whole = made.map((name) => ({ name, keys: 1, live: 1, undelivered: 0 }))
  const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1)
  expect(rows.toSorted(byName)).toEqual(whole.toSorted(byName))
}

/** From now on the first statement of this kind ends its own connection, in the middle of its transaction. */
async function killPostgresOnce(table: string, event: string, when: 'at once' | 'at commit'): Promise<void> {
  await pool.query(
    `create sequence kills;
     create function kill_once() returns trigger language plpgsql security definer as $$
     begin
       if nextval('kills') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
       return null;
     end $$;
     create constraint trigger kill_once after ${event} on ${table}
       deferrable initially ${when === 'at once' ? 'immediate' : 'deferred'} for each row execute function kill_once()`,
  )
  onTestFinished(async () => {
    await pool.query(`drop trigger kill_once on ${table}; drop function kill_once; drop sequence kills`)
  })
}

describe('Postgres dies', () => {
  test.each([
    ['when the object is noted', 'cluster_resources', 'insert', 'at once'],
    ['when the key is made', 'api_keys', 'insert', 'at once'],
    ['when its text is minted', 'api_key_credentials', 'insert', 'at once'],
    ['when key and text are committed', 'api_key_credentials', 'insert', 'at commit'],
    ['when the delivery is noted', 'api_key_credentials', 'update of delivered_at', 'at once'],
    ['when its trigger is noted', 'cluster_resources', 'update', 'at once'],
    ['when the delivery is committed', 'cluster_resources', 'update', 'at commit'],
  ] as const)('%s: one key, never a dead Secret', async (_, table, event, when) => {
    await killPostgresOnce(table, event, when)
    const made = names(1)
    const watch = watchSecrets(made)
    await start()
    await team.apply(made[0] ?? '', { rotation: { trigger: 'first' } })
    await expectWhole(made)
    await watch.stop()
    const { rows } = await pool.query<{ kills: bigint }>('select last_value as kills from kills')
    expect(rows[0]?.kills, 'it did die').toBeGreaterThan(0n)
    expect(operator?.errors.map(String)).toContainEqual(expect.stringContaining('Postgres is unavailable'))
  })

  test('again and again while 30 keys are made, its answers lost: one key each, never a dead Secret', async () => {
    const gate = await gateOfThisTest(Number(new URL(databaseUrl).port))
    const gated = new URL(databaseUrl)
    gated.host = `127.0.0.1:${gate.port}`
    await start({ databaseUrl: gated.href })
    const made = names(30)
    const watch = watchSecrets(made)
    await Promise.all(made.map((name) => team.apply(name, { rotation: { trigger: 'first' } })))
    for (let count = 0; count < 20; count++) {
      gate.holdAnswers() // what is requested now is done, and the operator gets no response
      await pause(10 + 2 * count)
      gate.cut()
      await pause(40)
    }
    await expectWhole(made)
    await watch.stop()
  })
})

describe('the operator dies', () => {
  test('at any moment while 30 keys are made: one key each, never a dead Secret', async () => {
    await start()
    const made = names(30)
    const watch = watchSecrets(made)
    await Promise.all(made.map((name) => team.apply(name, { rotation: { trigger: 'first' } })))
    for (let count = 0; count < 12; count++) {
      await pause(15 * (count % 6))
      await startAnew()
    }
    await expectWhole(made)
    await watch.stop()
  })

  test('at any moment of a rotation: the previous secret lives on, and one new secret comes', async () => {
    await start()
    const made = names(20)
    await Promise.all(made.map((name) => team.apply(name)))
    await expectWhole(made)
    const before = await Promise.all(made.map(textOf))
    const watch = watchSecrets(made)
    await Promise.all(made.map((name) => team.apply(name, { rotation: { trigger: 'next' } })))
    for (let count = 0; count < 8; count++) {
      await pause(12 * (count % 5))
      await startAnew()
    }
    await expectWhole(made)
    await watch.stop()
    for (const text of before) expect(await gatewayStatus(gateway, text ?? '')).toBe(200)
    const after = await Promise.all(made.map(textOf))
    expect(after.filter((text) => before.includes(text))).toEqual([])
  })
})

describe('while the database is unavailable', () => {
  async function startGated(options: Partial<KeyOperatorOptions> = {}) {
    const gate = await gateOfThisTest(Number(new URL(databaseUrl).port))
    const gated = new URL(databaseUrl)
    gated.host = `127.0.0.1:${gate.port}`
    await start({ databaseUrl: gated.href, ...options })
    const [name = ''] = names(1)
    await team.apply(name)
    const { OPENAI_API_KEY: text = '' } = await team.readyValues(name)
    return { gate, name, text }
  }

  const conditionOf = async (name: string, type: string) => {
    const object = await team.find(name)
    const { conditions = [] }: { conditions?: { type: string; reason: string; status: string }[] } = Object(
      object?.status,
    )
    return conditions.find((condition) => condition.type === type)
  }

  test('an ApiKey keeps its status, reports the outage after its time, and its end at once', async () => {
    const { gate, name, text } = await startGated({ longOutageMs: 1_000 })
    const before = await team.find(name)
    gate.shut()
    await vi.waitFor(
      async () =>
        expect(await conditionOf(name, 'DatabaseReachable')).toMatchObject({ reason: 'DatabaseUnavailable' }),
      { timeout: 20_000 },
    )
    expect(await conditionOf(name, 'Ready')).toEqual(
      Object(before?.status).conditions.find((condition: { type: string }) => condition.type === 'Ready'),
    )
    expect(await gatewayStatus(gateway, text)).toBe(200)
    gate.open()
    await vi.waitFor(
      async () => expect(await conditionOf(name, 'DatabaseReachable')).toMatchObject({ reason: 'Connected' }),
      { timeout: 20_000 },
    )
  })

  test('an ApiKey whose Secret is deleted reports it, and has another once the database is back', async () => {
    const { gate, name, text } = await startGated()
    gate.shut()
    const secret = await team.secret(`${name}-apikey`)
    if (secret !== undefined) await client.remove(secrets, secret)
    await team.untilReady(name, 'SecretMissing')
    expect(await gatewayStatus(gateway, text)).toBe(200)
    gate.open()
    const { OPENAI_API_KEY: next = '' } = await team.readyValues(name)
    expect(await gatewayStatus(gateway, next)).toBe(200)
  })

  test('a new ApiKey reports that its state is unknown, and has its key soon after', async () => {
    const { gate } = await startGated()
    gate.shut()
    const [name = ''] = names(1)
    await team.apply(name)
    await team.untilReady(name, 'Pending')
    gate.open()
    await team.untilReady(name)
  })

  test('a deleted ApiKey waits and reports why; the override releases it, and its key keeps working', async () => {
    const { gate, name, text } = await startGated()
    gate.shut()
    await team.remove(name)
    await vi.waitFor(async () => expect(await team.events(name)).toContain('RevokeBlocked'), {
      timeout: 10_000,
    })
    const object = await team.find(name)
    expect(object?.metadata.deletionTimestamp).toBeDefined()
    const annotations = { 'modelgateway.dev/deletion-policy-override': 'Orphan' }
    if (object !== undefined) await client.patch(apiKeys, object, { metadata: { annotations } })
    await team.untilGone(name)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    expect((await team.secret(`${name}-apikey`))?.metadata.ownerReferences ?? []).toEqual([])
    gate.open()
    // An ApiKey of that name goes on with the key.
    await team.apply(name)
    expect((await team.readyValues(name)).OPENAI_API_KEY).toBe(text)
  })
})
