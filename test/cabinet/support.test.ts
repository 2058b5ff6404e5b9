import { randomBytes, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { postBatch } from '#core/ledger/post-batch'
import { recentlyRefusedName, refusedName, shardOf } from '#core/redis/shard'
import { createCustomer, entryOf } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'

const [database, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const { pool } = database
const administration = await administrationOfThisFile(database, { REDIS_URL: redis.url })
const english = { 'accept-language': 'en' }
/** Its archive does not answer. */
const withoutArchive = await administrationOfThisFile(database, {
  REDIS_URL: redis.url,
  CLICKHOUSE_URL: 'http://127.0.0.1:1/requests',
})

/** A request ID of this time, as gateways make them. */
function uuidAt(atMs: number): string {
  const time = atMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** A customer with a settled request, a paid payment with its top-up, and an owner with an email. */
async function supported() {
  const customer = await createCustomer(pool, { balanceNano: 5_000_000_000n })
  const { organizationId, keyId } = customer
  const entry = entryOf(customer, 7n)
  await postBatch(pool, [entry])
  const { userId } = await signedIn(pool, { organizationId })
  const { administratorId, cookie } = await signedInAdministrator(pool)
  const [paymentId, providerId] = [randomUUID(), randomBytes(12).toString('hex')]
  await pool.query(
    `insert into payments (id, organization_id, user_id, provider_id, amount, status, succeeded_at, next_call_at)
     values ($1, $2, $3, $4, 100000000000, 'succeeded', now(), null)`,
    [paymentId, organizationId, userId, providerId],
  )
  await pool.query('select book_top_up($1)', [paymentId])
  const email = `${userId}@example.com`
  await pool.query(
    "insert into email_outbox (kind, recipient, locale, vars) values ('confirm_email', $1, 'en', '{\"url\": \"secret\"}')",
    [email.toUpperCase()],
  )
  const search = async (text: string, at = administration) =>
    at.call('POST', '/admin/search', { cookie, headers: english, body: { text } })
  const read = (path: string) =>
    administration.call('GET', `/admin/organizations/${organizationId}${path}`, { cookie, headers: english })
  return {
    organizationId,
    keyId,
    requestId: entry.requestId,
    userId,
    email,
    paymentId,
    providerId,
    administratorId,
    search,
    read,
  }
}

describe('a search', () => {
  test('reports that the archive did not answer, unless what it looks for is in Postgres', async () => {
    const { requestId, search } = await supported()
    const older = uuidAt(Date.parse('2026-01-02'))
    expect((await search(older, withoutArchive)).body).toMatchObject({ is_archive_away: true, receipts: [] })
    expect((await search(requestId, withoutArchive)).body).toMatchObject({
      is_archive_away: false,
      receipts: [{ id: requestId }],
    })
    expect((await search(older)).body).toMatchObject({ is_archive_away: false, receipts: [] })
  })

  test('finds a receipt with its attempts and its ledger entries, by any of the ids of a response', async () => {
    const { requestId, organizationId, search } = await supported()
    for (const text of [requestId, `chatcmpl-${requestId}`, `msg_${requestId}`, `resp_${requestId}`]) {
      const { status, body } = await search(text)
      expect([status, body.by]).toEqual([200, 'id'])
      expect(body.receipts).toMatchObject([
        { id: requestId, organization_id: organizationId, attempts: expect.any(Array) },
      ])
      expect(body.ledger).toMatchObject([{ kind: 'charge', ref_id: requestId, amount_rub: '-0.000000007' }])
    }
  })

  test('finds a payment by our id and the provider’s, with what it added to the ledger', async () => {
    const { paymentId, providerId, organizationId, search } = await supported()
    for (const text of [paymentId, providerId]) {
      const { body } = await search(text)
      expect(body.payments).toMatchObject([
        { id: paymentId, organization_id: organizationId, status: 'succeeded' },
      ])
      expect(body.ledger).toMatchObject([{ kind: 'top_up', ref_id: paymentId, amount_rub: '100' }])
    }
  })

  test('finds a key by its visible start and end', async () => {
    const { keyId, organizationId, search } = await supported()
    const { rows } = await pool.query('select prefix, suffix from api_key_credentials where key_id = $1', [
      keyId,
    ])
    const { prefix, suffix } = rows[0]
    const { body } = await search(`${prefix}…${suffix}`)
    expect(body.by).toBe('key')
    expect(body.keys).toContainEqual(
      expect.objectContaining({ id: keyId, organization_id: organizationId, revoked_at: null }),
    )
  })

  test('finds a user and the emails to them by the address, but nothing that an email contains', async () => {
    const { email, userId, search } = await supported()
    const { body } = await search(email.toUpperCase())
    expect(body.users).toMatchObject([{ id: userId, email }])
    expect(body.emails).toMatchObject([{ kind: 'confirm_email', sent_at: null, tries: 0 }])
    expect(JSON.stringify(body)).not.toContain('secret')
  })

  test('finds an organization by its id and the beginning of its name, in any case', async () => {
    const { organizationId, search } = await supported()
    const name = `Acme 100%_${randomUUID()}`
    await pool.query('update organizations set display_name = $2 where id = $1', [organizationId, name])
    for (const text of [organizationId, name.toUpperCase(), name.slice(0, 20)])
      expect((await search(text)).body.organizations).toMatchObject([{ id: organizationId }])
    expect((await search(name.slice(1))).body.organizations).toEqual([])
  })

  test('finds a rejected request with the numbers that its client received', async () => {
    const { organizationId, keyId, search } = await supported()
    const requestId = uuidAt(Date.now())
    const client = new Redis(redis.url)
    await client.lpush(
      refusedName(organizationId),
      JSON.stringify({
        at: Date.now(),
        request: requestId,
        key: keyId,
        model: 'a/b',
        reason: 'rpm',
        limit: '60',
        used: '60',
      }),
    )
    await client.quit()
    const { body } = await search(requestId)
    expect(body.rejections).toMatchObject([
      {
        request_id: requestId,
        organization_id: organizationId,
        code: 'rate_limit_exceeded',
        limit: 60,
        used: 60,
      },
    ])
  })

  test('finds a rejected request of an organization that is not among the newest, also after later rejections', async () => {
    const { organizationId, keyId, search } = await supported()
    const atMs = Date.now() - 3_600_000
    const requestId = uuidAt(atMs)
    const client = new Redis(redis.url)
    const entry = { at: atMs, request: requestId, key: keyId, model: 'a/b', reason: 'model_not_allowed' }
    await client.lpush(refusedName(organizationId), JSON.stringify(entry))
    const zadd = (id: string, at: number) => client.zadd(recentlyRefusedName(shardOf(id)), at, id)
    await zadd(organizationId, atMs + 5_000)
    await Promise.all(Array.from({ length: 300 }, (_, n) => zadd(randomUUID(), atMs + n * 10)))
    await client.quit()
    await pool.query("update organizations set created_at = '2020-01-01' where id = $1", [organizationId])
    await pool.query(
      `insert into organizations (id, name, shard)
       select id, 'newer-' || id, 0 from (select gen_random_uuid() as id from generate_series(1, 201)) made`,
    )
    const { body } = await search(requestId)
    expect(body.rejections).toMatchObject([{ request_id: requestId, organization_id: organizationId }])
  })

  test('of nothing known finds nothing', async () => {
    const { search } = await supported()
    for (const text of [randomUUID(), 'nobody@nowhere.example', 'sk-gateway-zzzz…0000', "' or 1=1 --"]) {
      const { body } = await search(text)
      const { by: _, is_archive_away: __, ...lists } = body
      expect(Object.values(lists).flat()).toEqual([])
    }
  })

  test('for 10,000 characters is rejected at its field', async () => {
    const { search } = await supported()
    const { status, body } = await search('x'.repeat(10_000))
    expect(status).toBe(422)
    expect(body.errors).toEqual([
      expect.objectContaining({ path: 'text', message: 'must have at most 200 characters' }),
    ])
  })

  test('leaves a row of the audit log that names what was found, and not the text', async () => {
    const { email, userId, administratorId, search } = await supported()
    await search(email)
    const { rows } = await pool.query(
      "select actor_id, subject_id, after::text from audit_log where action = 'customer.search' and actor_id = $1",
      [administratorId],
    )
    expect(rows).toMatchObject([{ subject_id: 'email', after: expect.stringContaining(userId) }])
    const text = String(rows[0]?.after)
    expect(text.includes(email)).toBe(false)
  })
})

describe('a customer’s page', () => {
  test('reads what the customer sees, and leaves a row of the audit log for each view', async () => {
    const { organizationId, keyId, requestId, userId, administratorId, read } = await supported()
    expect((await read('')).body).toMatchObject({
      organization: { id: organizationId },
      members: [{ id: userId }],
    })
    expect((await read('/balance')).body.balance_rub).toBe('104.999999993')
    expect((await read('/keys')).body.data).toMatchObject([{ id: keyId }])
    expect((await read('/requests')).body.data).toMatchObject([{ id: requestId }])
    expect((await read(`/requests/${requestId}`)).body).toMatchObject({ id: requestId })
    expect((await read('/ledger')).body.data.length).toBeGreaterThan(1)
    expect((await read('/refusals')).body).toMatchObject({ data: [] })
    const { rows } = await pool.query(
      `select after ->> 'operation' as operation from audit_log
        where action = 'customer.view' and actor_id = $1 and organization_id = $2 order by id`,
      [administratorId, organizationId],
    )
    expect(rows.map(({ operation }) => operation)).toEqual([
      'adminReadOrganization',
      'adminReadBalance',
      'adminListKeys',
      'adminListRequests',
      'adminReadRequest',
      'adminListLedger',
      'adminListRefusals',
    ])
  })

  test('has one timeline of all that happened, newest first, a page at a time and each event once', async () => {
    const { organizationId, userId, paymentId, read } = await supported()
    await pool.query(
      `insert into consents (user_id, kind, version, sha256, locale, address, agent)
       values ($1, 'offer', '2026-11-22', repeat('a', 64), 'en', '127.0.0.1', 'test')`,
      [userId],
    )
    await pool.query(
      `insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, reason)
       values ('job', 'test', 'user.block', 'User', $1, null, 'A stolen card')`,
      [userId],
    )
    const all = (await read('/timeline')).body.data as {
      kind: string
      id: string
      at: string
      facts: object
    }[]
    expect(new Set(all.map(({ kind }) => kind))).toEqual(
      new Set(['sign_up', 'consent', 'payment', 'ledger', 'change', 'email']),
    )
    expect(all.map(({ at }) => at)).toEqual(
      all
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    expect(all).toContainEqual(
      expect.objectContaining({
        kind: 'payment',
        facts: expect.objectContaining({ amount_rub: '100', payment_id: paymentId }),
      }),
    )
    expect(all).toContainEqual(
      expect.objectContaining({
        facts: expect.objectContaining({ action: 'user.block', reason: 'A stolen card' }),
      }),
    )
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await read(`/timeline?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      paged.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor
    }
    expect(paged).toEqual(all.map(({ id }) => id))
    expect(organizationId).toBeTruthy()
  })

  test('of an unknown organization does not exist, and leaves no row', async () => {
    const { cookie, administratorId } = await signedInAdministrator(pool)
    for (const id of [randomUUID(), 'none'])
      for (const path of ['', '/timeline', '/keys'])
        expect(
          (await administration.call('GET', `/admin/organizations/${id}${path}`, { cookie })).status,
        ).toBe(404)
    const { rows } = await pool.query('select from audit_log where actor_id = $1', [administratorId])
    expect(rows).toEqual([])
  })
})

test('the audit log is exported with the same filters', async () => {
  const { organizationId, administratorId, read } = await supported()
  await read('/keys')
  const { cookie } = await signedInAdministrator(pool)
  const path = `/api/v1/admin/audit.csv?organization_id=${organizationId}&action=customer.view`
  const response = await fetch(`${administration.url}${path}`, { headers: { cookie } })
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const lines = (await response.text()).trim().split(/\r?\n/)
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(administratorId)
  expect(lines[1]).toContain('adminListKeys')
})
