import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Client } from 'pg'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import * as keys from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { createCustomer, entryOf, pepper } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { startTestWeb, webOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const web = await webOfThisFile(database)

beforeAll(() => waitForListener())

/** Until the process listens to the last of its channels: before that it sends another `resync`. */
async function waitForListener(): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database()
          and application_name = 'model-gateway-cabinet-hints' and query = 'listen model_gateway_answers' and state = 'idle'`,
    )
    expect(rows[0]?.count).toBe(1)
  })
}

/** A stream of events as a browser reads it. */
type Stream = {
  readonly response: Response
  /** All events so far, as `name id`, without the events that keep the stream alive. */
  readonly told: string[]
  /** The names of all events so far. */
  readonly heard: readonly string[]
  /** Whether the server has ended it. */
  readonly isOver: () => boolean
  leave(): void
}

async function open(cookie: string, url = web.url, query = ''): Promise<Stream> {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const response = await fetch(`${url}/api/v1/events${query}`, {
    headers: { cookie },
    signal: leaving.signal,
  })
  const told: string[] = []
  const heard: string[] = []
  let isOver = false
  const read = async () => {
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
        if (name !== undefined) heard.push(name)
        if (name !== undefined && name !== 'alive')
          told.push([name, ...Object.values(JSON.parse(data ?? ''))].join(' '))
      }
    }
  }
  void read()
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  return { response, told, heard, isOver: () => isOver, leave: () => leaving.abort() }
}

/** The stream of a user who has received `resync`, so that nothing is missed from now on. */
async function openCurrent(cookie: string, url?: string): Promise<Stream> {
  const stream = await open(cookie, url)
  await vi.waitFor(() => expect(stream.told).toEqual(['resync']))
  stream.told.length = 0
  return stream
}

/** A customer with a signed-in user. */
async function createReader() {
  const customer = await createCustomer(pool, { balanceNano: 1_000_000_000_000n })
  const { organizationId } = customer
  return { ...customer, ...(await signedIn(pool, { organizationId })) }
}

test('the stream is neither cached nor buffered by proxies', async () => {
  const { cookie } = await createReader()
  const { response } = await open(cookie)
  const shown = ['content-type', 'cache-control', 'x-accel-buffering'].map((name) =>
    response.headers.get(name),
  )
  expect([response.status, ...shown]).toEqual([200, 'text/event-stream; charset=utf-8', 'no-store', 'no'])
  const head = await fetch(`${web.url}/api/v1/events`, { method: 'HEAD', headers: { cookie } })
  expect([head.status, (await fetch(`${web.url}/api/v1/events`)).status]).toEqual([404, 401])
})

test('a page whose organization has not changed since it began to read need not read again; any other must', async () => {
  const { organizationId, cookie, keyId, ...customer } = await createReader()
  const changedAgo = (seconds: number) =>
    pool.query(
      'update org_account set updated_at = clock_timestamp() - make_interval(secs => $2) where organization_id = $1',
      [organizationId, seconds],
    )
  /** The first event of a stream, and the stream. */
  const begin = async (sinceMs: number) => {
    const stream = await open(cookie, web.url, `?since_ms=${sinceMs}`)
    await vi.waitFor(() => expect(stream.heard).not.toEqual([]))
    return { first: stream.heard[0], stream }
  }
  await changedAgo(60)
  // A process that has just begun knows of no earlier changes.
  const { stream } = await vi.waitFor(
    async () => {
      const begun = await begin(Date.now())
      if (begun.first !== 'alive') begun.stream.leave()
      expect(begun.first).toBe('alive')
      return begun
    },
    { timeout: 20_000, interval: 1_000 },
  )
  for (const sinceMs of [Date.now() - 120_000, Date.now() + 60_000]) {
    const other = await begin(sinceMs)
    expect([sinceMs, other.first]).toEqual([sinceMs, 'resync'])
    other.stream.leave()
  }
  await postBatch(pool, [entryOf({ organizationId, keyId, ...customer }, 1n)])
  await vi.waitFor(() => expect(stream.told).toEqual(['balance']))
  const afterCharge = await begin(Date.now())
  expect(afterCharge.first).toBe('resync')
  afterCharge.stream.leave()

  await changedAgo(60)
  await inTestScope(pool, (client) => keys.blockKey(client, keyId, 'owner'))
  await vi.waitFor(() => expect(stream.told).toContain(`keys ${keyId}`))
  expect((await begin(Date.now())).first).toBe('resync')
}, 60_000)

test('postings and changed keys or payments are sent only to their organization', async () => {
  const [mine, other] = [await createReader(), await createReader()]
  const [stream, second, foreign] = await Promise.all(
    [mine, mine, other].map(({ cookie }) => openCurrent(cookie)),
  )
  const heard = async (event: string) => {
    for (const one of [stream, second]) {
      await vi.waitFor(() => expect(new Set(one?.told)).toEqual(new Set([event])))
      if (one !== undefined) one.told.length = 0
    }
  }
  const { organizationId, keyId, userId } = mine
  await postBatch(pool, [entryOf(mine, 7n)])
  await heard('balance')
  const given = { organizationId, kind: 'adjustment', refId: randomUUID(), amount: nanoRub(7n) } as const
  await inTestScope(pool, (client) => credit(client, given))
  await heard('balance')
  await inTestScope(pool, (client) => keys.blockKey(client, keyId, 'kubernetes'))
  await heard(`keys ${keyId}`)
  await inTestScope(pool, (client) => keys.rotateKey(client, keyId, 0, pepper))
  await heard(`keys ${keyId}`)
  const draft = { organizationId, name: 'new', managedBy: 'cabinet' } as const
  const made = await inTestScope(pool, (client) => keys.createKey(client, draft, pepper))
  await heard(`keys ${made.keyId}`)
  const paymentId = randomUUID()
  await pool.query(
    'insert into payments (id, organization_id, user_id, amount, next_call_at) values ($1, $2, $3, 100000000000, null)',
    [paymentId, organizationId, userId],
  )
  await heard(`payments ${paymentId}`)
  await pool.query(`update payments set status = 'canceled' where id = $1`, [paymentId])
  await heard(`payments ${paymentId}`)
  await pool.query('update payments set polls = 1 where id = $1', [paymentId])
  await postBatch(pool, [entryOf(mine, 7n), entryOf(other, 7n)])
  await heard('balance')
  await vi.waitFor(() => expect(foreign?.told).toEqual(['balance']))
})

test('more keys than a page would read one by one are sent as one event', async () => {
  const mine = await createReader()
  const stream = await openCurrent(mine.cookie)
  const draft = { organizationId: mine.organizationId, name: 'one of many', managedBy: 'cabinet' } as const
  await inTestScope(pool, async (client) => {
    for (let made = 0; made < 21; made++) await keys.createKey(client, draft, pepper)
  })
  await vi.waitFor(() => expect(stream.told).toEqual(['resync']))
})

test('posting charges sends no notification', async () => {
  const mine = await createReader()
  const heard: string[] = []
  const client = new Client({ connectionString: database.url })
  onTestFinished(() => client.end())
  await client.connect()
  client.on('notification', ({ payload }) => heard.push(String(payload)))
  for (const channel of ['changes', 'programmed', 'organizations'])
    await client.query(`listen model_gateway_${channel}`)
  await postBatch(pool, [entryOf(mine, 7n)])
  await inTestScope(pool, (scoped) => keys.blockKey(scoped, mine.keyId, 'owner'))
  await vi.waitFor(() => expect(heard).toContain(`keys ${mine.organizationId} ${mine.keyId}`))
  expect(heard.filter((payload) => !payload.startsWith('keys'))).toEqual([])
})

test('a user has at most eight streams; a ninth must wait for a free place', async () => {
  const { cookie, organizationId } = await createReader()
  const streams = await Promise.all(Array.from({ length: 8 }, () => openCurrent(cookie)))
  const ninth = await open(cookie)
  expect([ninth.response.status, ninth.response.headers.get('retry-after')]).toEqual([429, '30'])
  const colleague = await signedIn(pool, { organizationId })
  await openCurrent(colleague.cookie)
  streams[0]?.leave()
  await vi.waitFor(async () => expect((await open(cookie)).response.status).toBe(200))
})

test('callers who hang up at once take no place', async () => {
  const { cookie } = await createReader()
  for (let tries = 0; tries < 40; tries++) {
    const leaving = new AbortController()
    const asked = fetch(`${web.url}/api/v1/events`, { headers: { cookie }, signal: leaving.signal })
    setTimeout(() => leaving.abort(), tries / 2)
    await asked.catch(() => undefined)
  }
  await vi.waitFor(async () => {
    const streams = await Promise.all(Array.from({ length: 8 }, () => open(cookie)))
    const statuses = streams.map(({ response }) => response.status)
    if (statuses.some((status) => status !== 200)) for (const stream of streams) stream.leave()
    expect(statuses).toEqual(Array.from({ length: 8 }, () => 200))
  })
})

test('a stream ends with its session: signed out, revoked, blocked, or no longer a member', async () => {
  const ends: readonly ((person: Awaited<ReturnType<typeof createReader>>) => Promise<unknown>)[] = [
    ({ cookie }) => web.call('POST', '/auth/logout', { cookie }),
    ({ userId }) => pool.query('delete from sessions where user_id = $1', [userId]),
    ({ userId }) => pool.query(`update sessions set expires_at = now() where user_id = $1`, [userId]),
    ({ userId }) => pool.query('update users set blocked_at = now() where id = $1', [userId]),
    ({ userId }) => pool.query('delete from memberships where user_id = $1', [userId]),
  ]
  for (const end of ends) {
    const person = await createReader()
    const stream = await openCurrent(person.cookie)
    await end(person)
    await vi.waitFor(() => expect([stream.told, stream.isOver()]).toEqual([['ended'], true]))
  }
})

test('a stream survives an outage of Postgres, and then reports that changes may have been missed', async () => {
  const gate = await gateOfThisTest(Number(new URL(database.url).port))
  const url = new URL(database.url)
  url.port = String(gate.port)
  url.hostname = '127.0.0.1'
  await using own = await startTestWeb({ ...database, url: url.href })
  const mine = await createReader()
  const stream = await open(mine.cookie, own.url)
  await vi.waitFor(() => expect(stream.told).toContain('resync'))
  gate.shut()
  await postBatch(pool, [entryOf(mine, 7n)])
  await vi.waitFor(async () =>
    expect((await own.call('GET', '/balance', { cookie: mine.cookie })).status).toBe(503),
  )
  stream.told.length = 0
  gate.open()
  await vi.waitFor(() => expect(stream.told).toContain('resync'))
  expect([stream.isOver(), stream.told.filter((event) => event !== 'resync')]).toEqual([false, []])
})

test('a process that stops waits for no stream', async () => {
  const own = await startTestWeb(database)
  const mine = await createReader()
  const streams = [await openCurrent(mine.cookie, own.url), await openCurrent(mine.cookie, own.url)]
  const unread = await fetch(`${own.url}/api/v1/events`, { headers: { cookie: mine.cookie } })
  const begun = performance.now()
  await own[Symbol.asyncDispose]()
  expect(performance.now() - begun).toBeLessThan(5_000)
  await vi.waitFor(() => expect(streams.map(({ isOver }) => isOver())).toEqual([true, true]))
  await unread.body?.cancel()
})

test('a process that stops waits for no connection on which nothing was ever sent', async () => {
  const own = await startTestWeb(database)
  const silent = connect(Number(new URL(own.url).port), '127.0.0.1')
  onTestFinished(() => void silent.destroy())
  await once(silent, 'connect')
  // Node accepts connections in their order: once a later one is answered, it has this one, too.
  expect((await own.call('GET', '/me')).status).toBe(401)
  const begun = performance.now()
  await Promise.all([once(silent, 'close'), own[Symbol.asyncDispose]()])
  expect(performance.now() - begun).toBeLessThan(5_000)
})
