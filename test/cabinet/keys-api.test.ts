import { randomInt, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EffectiveLimit, ShownKey } from '#cabinet/keys/key-contracts'
import { inReadScope } from '#core/audit/scope'
import { findKeyOwners, putResource } from '#core/clusters/cluster-resources'
import { countKeysOf, listKeysOf, readKeyOf, readKeyState, readKeyStates } from '#core/keys/key-state'
import { blockKey, createKey, holdKeyOf, insertKey, revokeKey } from '#core/keys/key-store'
import { createProgrammedKeys } from '#core/keys/programmed-keys'
import { credit } from '#core/ledger/credit'
import { readSpentToday } from '#core/ledger/key-day'
import { nanoRub } from '#core/ledger/money'
import { pepper } from '../support/customer.ts'
import { poolAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { post, stackOfThisFile, untilOpen } from '../support/stack.ts'

const stack = await stackOfThisFile()
const { pool } = stack.database
let web: Process
let gateway: Process
let worker: Process
let model: string

beforeAll(async () => {
  model = await stack.createModel()
  ;[web, gateway, worker] = await Promise.all([startWeb(), stack.startGateway(), stack.startWorker()])
  await untilOpen(gateway)
})

function startWeb(env: Readonly<Record<string, string>> = {}): Promise<Process> {
  return stack.startWeb({ TRUSTED_PROXY_CIDRS: '127.0.0.0/8', ...env })
}

/** Whatever an answer may have; each has some of it. */
type Body = ShownKey & {
  readonly key: ShownKey
  readonly secret: string | null
  readonly programmed: boolean
  readonly data: readonly ShownKey[]
  readonly next_cursor: string | null
  readonly limits: readonly EffectiveLimit[]
  readonly would_refuse: boolean
  readonly code: string
  readonly errors: readonly { readonly path: string }[]
}

type Sent = {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly raw?: string
}

/** A signed-in caller of the cabinet. */
async function caller(fields: Parameters<typeof signedIn>[1] & { readonly balanceNano?: bigint } = {}) {
  const { balanceNano = 100_000_000_000n, ...who } = fields
  const person = await signedIn(pool, who)
  if (balanceNano !== 0n && who.organizationId === undefined) await give(person.organizationId, balanceNano)

  // Each caller has its own address, because callers at one address share a throttle.
  const address = Array.from({ length: 4 }, () => randomInt(1, 255)).join('.')

  async function call(method: string, path: string, { body, raw, headers }: Sent = {}) {
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${web.baseUrl.replace('/v1', '')}/api/v1${path}`, {
      method,
      headers: {
        cookie: person.cookie,
        'sec-fetch-site': 'same-origin',
        'accept-language': 'en',
        'x-forwarded-for': address,
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    })
    const answer = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: (answer === '' ? undefined : JSON.parse(answer)) as Body,
    }
  }

  const once = (key = randomUUID()) => ({ 'idempotency-key': key })
  const make = (fields: object = {}, headers = once()) =>
    call('POST', '/keys', { body: { name: 'ci', ...fields }, headers })
  /** A key that was made over HTTP, with its secret. */
  async function made(fields: object = {}) {
    const { status, body } = await make(fields)
    expect(status).toBe(201)
    return { id: body.key.id, secret: String(body.secret) }
  }
  const read = async (id: string) => (await call('GET', `/keys/${id}`)).body
  return { ...person, call, make, made, read, once }
}

function give(organizationId: string, amount: bigint) {
  const kind = 'top_up'
  return inTestScope(pool, (client) =>
    credit(client, { organizationId, kind, refId: randomUUID(), amount: nanoRub(amount) }),
  )
}

/** A key of a cluster, and the object that owns it. */
async function clusterKey(organizationId: string) {
  const id = randomUUID()
  const object = { clusterId: randomUUID(), kind: 'ApiKey', namespace: 'team', name: 'agent' } as const
  await inTestScope(pool, async (client) => {
    await insertKey(client, { id, organizationId, name: 'agent', managedBy: 'kubernetes' })
    const facts = { uid: 'u', generation: 1, revision: null, rotationTrigger: null, rotatedAt: null }
    await putResource(client, { ...object, ...facts, subject: id })
  })
  const { clusterId: cluster, namespace, name } = object
  return { id, cluster, namespace, name }
}

/** The status of one request, the next one after whatever was awaited before. */
async function statusAt(secret: string): Promise<number> {
  const response = await post(gateway, secret, { model, messages: [{ role: 'user', content: 'x' }] })
  await response.arrayBuffer()
  return response.status
}

describe('a new key', () => {
  test('is answered once with its secret, and that works at the next request', async () => {
    const { make, call, userId } = await caller()
    const fields = {
      rpm: 10,
      tpm: 1000000,
      daily_budget_rub: '250.50',
      weekly_budget_rub: '1000',
      monthly_budget_rub: '3000.000000001',
      total_budget_rub: '999999999.999999999',
      allowed_models: ['test/*', model],
      expires_at: '2090-01-01T03:00:00+03:00',
      read_balance: true,
      keeps_responses_hours: 24,
    }
    const { status, body } = await make({ name: ' agents ', ...fields })
    expect(status).toBe(201)
    const { key, secret } = body
    expect(await statusAt(String(secret))).toBe(200)
    expect(key).toMatchObject({
      name: 'agents',
      status: 'active',
      blocked_by: [],
      managed_by: 'cabinet',
      kubernetes: null,
      ...fields,
      daily_budget_rub: '250.5',
      expires_at: '2090-01-01T00:00:00.000Z',
      secret_hint: `${String(secret).slice(0, 15)}…${String(secret).slice(-4)}`,
      secrets_in_grace: [],
    })
    const { rows } = await pool.query(
      "select actor_kind, actor_id, request_id is not null as traced from audit_log where subject_id = $1 and action = 'key.create'",
      [key.id],
    )
    expect(rows).toEqual([{ actor_kind: 'person', actor_id: userId, traced: true }])
    expect((await call('GET', `/keys/${key.id}`)).body).toMatchObject({ id: key.id, name: 'agents' })
  })

  test('is made once for one Idempotency-Key, which never shows its secret again', async () => {
    const { make, call, once } = await caller()
    const headers = once()
    const answers = await Promise.all([make({}, headers), make({}, headers), make({}, headers)])
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(answers.map(({ body }) => body.key.id)).size).toBe(1)
    expect(answers.filter(({ body }) => body.secret !== null)).toHaveLength(1)
    expect((await call('GET', '/keys')).body.data).toHaveLength(1)
    expect(await make({ name: 'other' }, headers)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    })
    const stored = await pool.query('select answer::text from idempotency_keys where key = $1', [
      headers['idempotency-key'],
    ])
    expect(stored.rows[0].answer).not.toContain(answers.find(({ body }) => body.secret !== null)?.body.secret)
    expect(await make({}, {} as never)).toMatchObject({
      status: 400,
      body: { code: 'idempotency_key_required' },
    })
  })

  test.each([
    ['name', { name: '' }],
    ['name', { name: '   ' }],
    ['name', { name: 'x'.repeat(254) }],
    ['name', { name: 'a\u0000b' }],
    ['rpm', { rpm: -1 }],
    ['rpm', { rpm: 0 }],
    ['rpm', { rpm: 1.5 }],
    ['tpm', { tpm: 2 ** 31 }],
    ['tpm', { tpm: '5' }],
    ['daily_budget_rub', { daily_budget_rub: '-1' }],
    ['daily_budget_rub', { daily_budget_rub: '1e400' }],
    ['daily_budget_rub', { daily_budget_rub: '0.0000000001' }],
    ['daily_budget_rub', { daily_budget_rub: 5 }],
    ['weekly_budget_rub', { weekly_budget_rub: '0' }],
    ['monthly_budget_rub', { monthly_budget_rub: '-1' }],
    ['monthly_budget_rub', { monthly_budget_rub: '0.0000000001' }],
    ['total_budget_rub', { total_budget_rub: '0.00' }],
    ['daily_budget_rub', { daily_budget_rub: '1000000000000' }],
    ['total_budget_rub', { total_budget_rub: '1000000000000' }],
    ['allowed_models.0', { allowed_models: ['gpt-*'] }],
    ['allowed_models', { allowed_models: ['a/b', 'a/b'] }],
    ['allowed_models', { allowed_models: [] }],
    ['allowed_ips.0', { allowed_ips: ['x'] }],
    ['allowed_ips.1', { allowed_ips: ['::1', '10.0.0.1/8'] }],
    ['allowed_ips', { allowed_ips: [] }],
    ['allowed_ips', { allowed_ips: Array.from({ length: 1_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`) }],
    ['expires_at', { expires_at: '9999-12-31T23:59:59-12:00' }],
    ['expires_at', { expires_at: 'tomorrow' }],
    ['managed_by', { managed_by: 'kubernetes' }],
  ])('with a bad %s is 422 and names the field: %j', async (path, fields) => {
    const { make } = await caller({ balanceNano: 0n })
    const { status, body } = await make(fields)
    expect([status, body.code, body.errors[0]?.path]).toEqual([422, 'validation_failed', path])
  })

  test('with a number that JSON cannot hold is 422, a body of more than 64 KiB is 413', async () => {
    const { call, once } = await caller({ balanceNano: 0n })
    const send = (raw: string) => call('POST', '/keys', { raw, headers: once() })
    expect(await send('{"name":"ci","rpm":1e400}')).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'rpm' }] },
    })
    const filler = ' '.repeat(64 * 1024 - '{"name":"ci"}'.length)
    expect((await send(`{"name":"ci"${filler}}`)).status).toBe(201)
    expect((await send(`{"name":"ci"${filler} }`)).status).toBe(413)
  })

  test('is 409 for an organization with 200 keys, until one is revoked', async () => {
    const { make, call, organizationId } = await caller()
    const ids = await inTestScope(pool, async (client) => {
      const made: string[] = []
      for (let count = 0; count < 200; count++)
        made.push(await insertKey(client, { organizationId, name: `k${count}`, managedBy: 'cabinet' }))
      return made
    })
    expect(await make()).toMatchObject({ status: 409, body: { code: 'too_many_keys' } })
    expect((await call('DELETE', `/keys/${ids[0]}`)).status).toBe(200)
    expect((await make()).status).toBe(201)
  })

  test('needs a confirmed address, and a role that may write', async () => {
    const { make } = await caller({ isConfirmed: false })
    expect(await make()).toMatchObject({ status: 403, body: { code: 'email_not_verified' } })
    const owner = await caller()
    const { id } = await owner.made()
    const { organizationId } = owner
    const developer = await caller({ memberRole: 'developer', organizationId })
    const accountant = await caller({ memberRole: 'accountant', organizationId })
    expect((await developer.make()).status).toBe(201)
    expect((await developer.call('POST', `/keys/${id}/block`)).status).toBe(200)
    expect(await accountant.make()).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    for (const [method, path] of changes(id))
      expect((await accountant.call(method, path, { body: {} })).status).toBe(403)
    expect((await accountant.call('GET', `/keys/${id}`)).status).toBe(403)
  })
})

function changes(id: string): readonly (readonly [method: string, path: string])[] {
  return [
    ['PATCH', `/keys/${id}`],
    ['DELETE', `/keys/${id}`],
    ...['block', 'unblock', 'rotate'].map((verb) => ['POST', `/keys/${id}/${verb}`] as const),
  ]
}

describe('a key of the playground', () => {
  test('works at once, for an hour of the server’s clock and 50 rubles, and takes no other key’s place', async () => {
    const { call, once, made, organizationId } = await caller()
    const { id } = await made()
    const headers = once()
    const { status, body } = await call('POST', '/playground-keys', { headers })
    expect([status, await statusAt(String(body.secret))]).toEqual([201, 200])
    expect(body.key).toMatchObject({ purpose: 'playground', daily_budget_rub: '50', managed_by: 'cabinet' })
    const leftMs = Date.parse(String(body.key.expires_at)) - Date.now()
    expect([leftMs > 3_500_000, leftMs <= 3_600_000]).toEqual([true, true])
    const again = await call('POST', '/playground-keys', { headers })
    expect(again.body).toMatchObject({ key: { id: body.key.id }, secret: null })
    const idsOf = async (query: string) => (await call('GET', `/keys${query}`)).body.data.map((key) => key.id)
    expect(await idsOf('')).toEqual([body.key.id, id])
    expect(await idsOf('?purpose=general')).toEqual([id])
    expect(await idsOf('?purpose=playground')).toEqual([body.key.id])
    expect((await call('GET', '/keys?purpose=other')).status).toBe(422)
    expect(await countKeysOf(pool, organizationId)).toBe(1)
  })

  test('that has ended is revoked when the next one is made, and so is the oldest of twenty', async () => {
    const { call, once } = await caller()
    const make = async () => {
      const { status, body } = await call('POST', '/playground-keys', { headers: once() })
      expect(status).toBe(201)
      return body.key.id
    }
    const list = async () =>
      (await call('GET', '/keys?purpose=playground')).body.data.map((key) => key.id).toReversed()
    const ended = await make()
    await pool.query('update api_keys set expires_at = now() where id = $1', [ended])
    const ids = []
    for (let made = 0; made < 20; made++) ids.push(await make())
    expect(await list()).toEqual(ids)
    const next = await make()
    expect(await list()).toEqual([...ids.slice(1), next])
    expect((await call('GET', `/keys/${ended}`)).status).toBe(404)
  })
})

describe('keys', () => {
  test('are listed page by page, newest first, without those that are revoked', async () => {
    const { made, call } = await caller()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await made()).id)
    expect((await call('DELETE', `/keys/${ids[1]}`)).status).toBe(200)
    const shown: string[] = []
    let cursor: string | null = null
    do {
      const { body } = await call('GET', `/keys?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`)
      shown.push(...body.data.map(({ id }) => id))
      cursor = body.next_cursor
      // The last key of a page may go before the next one is asked for.
      if (shown.length === 2) await call('DELETE', `/keys/${shown[1]}`)
    } while (cursor !== null)
    expect(shown).toEqual([ids[0], ids[2], ids[3], ids[4]])
    expect((await call('GET', '/keys?limit=0')).status).toBe(422)
    expect((await call('GET', '/keys?cursor=nonsense')).status).toBe(422)
  })

  test('are found by a part of their name in any case and language, and by the begin of their id', async () => {
    const { made, call } = await caller()
    const other = await caller()
    const { id: bot } = await made({ name: 'Бот ПОДДЕРЖКИ 100%' })
    const { id: nightly } = await made({ name: 'Nightly_CI' })
    await other.made({ name: 'бот поддержки of others' })
    const found = async (q: string) => {
      const { status, body } = await call('GET', `/keys?q=${encodeURIComponent(q)}`)
      return status === 200 ? body.data.map(({ id }) => id) : status
    }
    expect(await found('поддержки')).toEqual([bot])
    expect(await found(' БОТ ')).toEqual([bot])
    expect(await found('nightly_c')).toEqual([nightly])
    expect(await found('%')).toEqual([bot])
    expect(await found('_')).toEqual([nightly])
    expect(await found(bot.slice(0, 8).toUpperCase())).toEqual([bot])
    expect(await found(bot)).toEqual([bot])
    expect(await found("' or true --")).toEqual([])
    expect(await found('x'.repeat(254))).toBe(422)
    expect(await found('\0')).toBe(422)
    expect((await call('GET', '/keys?limit=1&q=i')).body).toMatchObject({
      data: [{ id: nightly }],
      next_cursor: null,
    })
  })

  test('that are revoked stay readable, with their limits and the beginning and end of their last secret', async () => {
    const { made, call, once } = await caller()
    const [other, { id: active }] = [await caller(), await made()]
    const { id } = await made({ name: 'Old CI', rpm: 7 })
    expect((await call('GET', `/revoked-keys/${id}`)).status).toBe(404)
    await call('POST', `/keys/${id}/rotate`, { body: { grace: '0' }, headers: once() })
    const { secret_hint } = (await call('GET', `/keys/${id}`)).body
    expect((await call('DELETE', `/keys/${id}`)).status).toBe(200)
    await call('POST', '/playground-keys', { headers: once() })

    const { body } = await call('GET', '/revoked-keys')
    expect(body).toMatchObject({ data: [{ id, name: 'Old CI', rpm: 7, secret_hint }], next_cursor: null })
    const [revoked] = body.data as readonly (ShownKey & { readonly revoked_at: string })[]
    expect(Math.abs(Date.parse(revoked?.revoked_at ?? '') - Date.now())).toBeLessThan(60_000)
    expect((await call('GET', `/revoked-keys/${id}`)).body).toEqual(revoked)
    expect((await call('GET', '/revoked-keys?q=old')).body.data).toHaveLength(1)
    expect((await call('GET', '/revoked-keys?q=new')).body.data).toEqual([])
    for (const wrong of [active, randomUUID(), 'no-id'])
      expect((await call('GET', `/revoked-keys/${wrong}`)).status).toBe(404)
    expect((await other.call('GET', `/revoked-keys/${id}`)).status).toBe(404)
    expect((await other.call('GET', '/revoked-keys')).body.data).toEqual([])
  })

  test('of others, revoked ones and ids that cannot be one are 404, whatever is asked of them', async () => {
    const { call, made, once, organizationId } = await caller()
    const stranger = await caller()
    const { id: foreign } = await stranger.made()
    const { id: revoked } = await made()
    await call('DELETE', `/keys/${revoked}`)
    for (const id of [foreign, revoked, randomUUID(), 'nonsense', `${foreign}'`, '%00']) {
      const listed = id === revoked ? [] : ['/refusals'] // a revoked key's rejections stay readable
      const reads = ['', '/effective-limits', ...listed].map((rest) => ['GET', `/keys/${id}${rest}`] as const)
      for (const [method, path] of [...reads, ...changes(id)]) {
        const body = path.endsWith('rotate') ? { grace: '0' } : method === 'GET' ? undefined : {}
        const headers = { ...once(), 'if-match': '"1"' }
        const answer = await call(method, path, { body, headers })
        expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found'])
      }
    }
    expect(await stranger.read(foreign)).toMatchObject({ status: 'active' })
    const { body } = await call('GET', `/keys?cursor=${cursorAt(foreign)}`)
    expect(body).toEqual({ data: [], next_cursor: null })
    const { rows } = await pool.query(
      'select count(*)::int as count from idempotency_keys i where answer = $1',
      ['{}'],
    )
    expect([rows[0].count, organizationId.length]).toEqual([0, 36])
  })
})

function cursorAt(after: string): string {
  return Buffer.from(JSON.stringify({ after })).toString('base64url')
}

describe('a change', () => {
  test('of name and limits needs the version that was read, and leaves out what was not sent', async () => {
    const { made, call } = await caller()
    const { id } = await made({ rpm: 5, tpm: 1000, allowed_models: ['test/*'] })
    const etag = (await call('GET', `/keys/${id}`)).headers.get('etag') ?? ''
    const patch = (body: object, ifMatch?: string) =>
      call('PATCH', `/keys/${id}`, { body, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } })
    expect(await patch({ rpm: 7 })).toMatchObject({ status: 428, body: { code: 'precondition_required' } })
    const changed = await patch({ rpm: 7, tpm: null, name: 'new' }, etag)
    expect(changed).toMatchObject({
      status: 200,
      body: { programmed: true, key: { name: 'new', rpm: 7, tpm: null, allowed_models: ['test/*'] } },
    })
    expect(await patch({ rpm: 9 }, etag)).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed' },
    })
    expect((await patch({ rpm: -9 }, etag)).status).toBe(422)
    expect((await patch({ expires_at: null }, changed.headers.get('etag') ?? '')).status).toBe(200)
    expect(await call('GET', `/keys/${id}`)).toMatchObject({ body: { name: 'new', rpm: 7 } })
  })

  test('of tags keeps them in order, and the list is filtered by them; impossible tags are 422', async () => {
    const { made, make, call, organizationId } = await caller()
    const { id } = await made({ tags: ['web', 'team-a'] })
    await made({ tags: ['web'] })
    await made()
    const listed = async (tag: string) => (await call('GET', `/keys?tag=${tag}`)).body.data.length
    expect([await listed('web'), await listed('team-a'), await listed('other')]).toEqual([2, 1, 0])
    const read = await call('GET', `/keys/${id}`)
    expect(read.body.tags).toEqual(['team-a', 'web'])
    const headers = { 'if-match': read.headers.get('etag') ?? '' }
    const changed = await call('PATCH', `/keys/${id}`, { body: { tags: ['b', 'a.1'] }, headers })
    expect(changed).toMatchObject({ status: 200, body: { key: { tags: ['a.1', 'b'] } } })
    const { rows } = await pool.query(
      "select before -> 'tags' as before, after -> 'tags' as after from audit_log where organization_id = $1 and action = 'key.set_tags'",
      [organizationId],
    )
    expect(rows).toEqual([{ before: ['team-a', 'web'], after: ['a.1', 'b'] }])
    for (const tags of [
      ['a', 'a'],
      [''],
      ['A'],
      ['-a'],
      ['a\u0000'],
      ['a\n'],
      ['x'.repeat(33)],
      'a',
      Array.from({ length: 11 }, (_, n) => `t${n}`),
    ])
      expect((await make({ tags })).status, String(tags)).toBe(422)
  })

  test('of addresses is in force at the next request, in their one form, and each rejection has its address', async () => {
    const { made, call, organizationId } = await caller()
    const { id, secret } = await made({ allowed_ips: ['::FFFF:127.0.0.1', '127.0.0.1/32', '2001:DB8::/32'] })
    const read = await call('GET', `/keys/${id}`)
    expect(read.body.allowed_ips).toEqual(['127.0.0.1', '2001:db8::/32'])
    expect(await statusAt(secret)).toBe(200)
    const headers = { 'if-match': read.headers.get('etag') ?? '' }
    const changed = await call('PATCH', `/keys/${id}`, { body: { allowed_ips: ['203.0.113.0/24'] }, headers })
    expect(changed).toMatchObject({
      status: 200,
      body: { programmed: true, key: { allowed_ips: ['203.0.113.0/24'] } },
    })
    const again = await call('PATCH', `/keys/${id}`, { body: { allowed_ips: null }, headers })
    expect(again.status).toBe(412)
    expect(await statusAt(secret)).toBe(403)
    await vi.waitFor(async () =>
      expect((await call('GET', `/keys/${id}/refusals`)).body.data).toMatchObject([
        { code: 'ip_not_allowed', status: 403, scope: 'ips', ip: '127.0.0.1' },
      ]),
    )
    const wouldRefuse = async (ip: string) =>
      (await call('GET', `/keys/${id}/effective-limits?ip=${ip}`)).body.would_refuse
    expect([await wouldRefuse('203.0.113.9'), await wouldRefuse('::1')]).toEqual([false, true])
    expect((await call('GET', `/keys/${id}/effective-limits?ip=x`)).status).toBe(422)
    const { rows } = await pool.query(
      "select after -> 'allowedIps' as after from audit_log where organization_id = $1 and action = 'key.set_limits'",
      [organizationId],
    )
    expect(rows).toEqual([{ after: ['203.0.113.0/24'] }])
  })

  test('to a name that another key has is rejected with a free one, where the caller asks for it', async () => {
    const { make, made, call, once } = await caller()
    const name = 'Бот'
    const { id } = await made({ name, unique_name: true })
    const again = await make({ name: 'БОТ', unique_name: true })
    expect(again).toMatchObject({ status: 409, body: { code: 'key_name_taken', suggestion: 'БОТ 2' } })
    const key = once()
    const [first, repeated] = [
      await make({ name: 'other', unique_name: true }, key),
      await make({ name: 'other', unique_name: true }, key),
    ]
    expect([first.status, repeated.status]).toEqual([201, 201])
    const rename = async (from: string, body: object) => {
      const etag = (await call('GET', `/keys/${from}`)).headers.get('etag') ?? ''
      return (await call('PATCH', `/keys/${from}`, { body, headers: { 'if-match': etag } })).status
    }
    const other = first.body.key.id
    expect(await rename(other, { name, unique_name: true, rpm: 7 })).toBe(409)
    expect((await call('GET', `/keys/${other}`)).body).toMatchObject({ name: 'other', rpm: null })
    expect(await rename(id, { name, unique_name: true })).toBe(200)
    expect(await rename(other, { name })).toBe(200)
    expect(await rename(other, { rpm: 7, unique_name: true })).toBe(200)
    expect((await make({ name })).status).toBe(201)
  })

  test('of addresses also counts for receipts at the cabinet, whatever address a client claims', async () => {
    const { made } = await caller()
    const { id, secret } = await made({ allowed_ips: ['203.0.113.7'] })
    const url = `${web.baseUrl.replace('/v1', '')}/v1/requests/${randomUUID()}`
    const ask = async (headers: object = {}) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${secret}`, ...headers } })
      return `${response.status} ${((await response.json()) as { error: { code: string } }).error.code}`
    }
    expect(await ask()).toBe('403 ip_not_allowed')
    const claims = { 'x-gateway-client-ip': '203.0.113.7', 'x-gateway-client-proof': 'x' }
    expect(await ask(claims)).toBe('403 ip_not_allowed')
    // Proxies on loopback are trusted.
    const allowed = { 'x-forwarded-for': '203.0.113.7' }
    expect(await ask(allowed)).toBe('404 request_not_found')
    const change = (column: string) => pool.query(`update api_keys set ${column} where id = $1`, [id])
    await change('owner_blocked_at = now()')
    expect([await ask(), await ask(allowed)]).toEqual(['403 ip_not_allowed', '403 api_key_blocked'])
    await change("expires_at = now() - interval '1 s'")
    expect([await ask(), await ask(allowed)]).toEqual(['403 ip_not_allowed', '401 expired_api_key'])
    await change('revoked_at = now()')
    expect([await ask(), await ask(allowed)]).toEqual(['401 invalid_api_key', '401 invalid_api_key'])
  })

  test('that was posted between reading and changing is none', async () => {
    const { made, call, organizationId } = await caller()
    const { id } = await made()
    const etag = (await call('GET', `/keys/${id}`)).headers.get('etag') ?? ''
    await pool.query('update org_account set balance = 0 where organization_id = $1', [organizationId])
    const again = await call('GET', `/keys/${id}`, { headers: { 'if-none-match': etag } })
    expect(again).toMatchObject({ status: 200, body: { status: 'blocked' } })
    expect(
      (await call('PATCH', `/keys/${id}`, { body: { rpm: 1 }, headers: { 'if-match': etag } })).status,
    ).toBe(200)
  })

  test('is answered once the gateway goes by it: the very next request', async () => {
    const { made, call, once } = await caller()
    const { id, secret } = await made()
    for (let round = 0; round < 5; round++) {
      expect(await call('POST', `/keys/${id}/block`)).toMatchObject({
        status: 200,
        body: { programmed: true, key: { status: 'blocked', blocked_by: ['owner'] } },
      })
      expect(await statusAt(secret)).toBe(403)
      expect(await call('POST', `/keys/${id}/unblock`)).toMatchObject({
        status: 200,
        body: { programmed: true, key: { status: 'active', blocked_by: [] } },
      })
      expect(await statusAt(secret)).toBe(200)
    }
    const etag = (await call('GET', `/keys/${id}`)).headers.get('etag') ?? ''
    const lower = { body: { rpm: 1 }, headers: { 'if-match': etag } }
    expect((await call('PATCH', `/keys/${id}`, lower)).status).toBe(200)
    expect(await statusAt(secret)).toBe(429)
    const rotated = await call('POST', `/keys/${id}/rotate`, { body: { grace: '0' }, headers: once() })
    expect(rotated).toMatchObject({ status: 200, body: { programmed: true } })
    expect(await statusAt(secret)).toBe(401)
    expect(await statusAt(String(rotated.body.secret))).toBe(429)
    expect(await call('DELETE', `/keys/${id}`)).toMatchObject({ status: 200, body: { programmed: true } })
    expect(await statusAt(String(rotated.body.secret))).toBe(401)
  })

  test('responds as soon as the worker reports it, not at the next check after 100 ms', async () => {
    const { made, call } = await caller()
    const { id } = await made()
    // One response below 100 ms proves it; on busy processors it may take several tries.
    let tries = 0
    await vi.waitFor(async () => {
      const begun = performance.now()
      expect((await call('POST', `/keys/${id}/${tries++ % 2 ? 'unblock' : 'block'}`)).status).toBe(200)
      expect(performance.now() - begun).toBeLessThan(95)
    })
  })

  test('is answered in time however its id is written', async () => {
    const { made, call, once } = await caller()
    const path = `/keys/${(await made()).id.toUpperCase()}`
    expect((await call('POST', `${path}/block`)).status).toBe(200)
    const rotation = { body: { grace: '0' }, headers: once() }
    expect((await call('POST', `${path}/rotate`, rotation)).status).toBe(200)
    expect((await call('DELETE', path)).status).toBe(200)
  })

  test('is 202 after 2 s while the data plane cannot have it, and holds', async () => {
    const { made, call } = await caller()
    const { id } = await made()
    worker.freeze()
    onTestFinished(() => worker.thaw())
    const begun = performance.now()
    const answers = await Promise.all([call('POST', `/keys/${id}/block`), call('POST', `/keys/${id}/block`)])
    const ms = performance.now() - begun
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 202,
        body: { programmed: false, key: { blocked_by: ['owner'] } },
      })
    expect(ms).toBeGreaterThan(1_900)
    expect(ms).toBeLessThan(4_000)
    worker.thaw()
    await vi.waitFor(async () => expect((await call('POST', `/keys/${id}/block`)).status).toBe(200), {
      timeout: 20_000,
    })
  })

  test.each(['/keys', '/playground-keys'])(
    'at POST %s is 202 after 2 s while the data plane cannot have the new key, whose secret works later',
    async (path) => {
      const { call, once } = await caller()
      const body = path === '/keys' ? { name: 'ci' } : undefined
      const headers = once()
      const make = () => call('POST', path, { ...(body && { body }), headers })
      worker.freeze()
      onTestFinished(() => worker.thaw())
      const made = await make()
      expect(made).toMatchObject({ status: 202, body: { programmed: false } })
      worker.thaw()
      await vi.waitFor(
        async () => expect(await make()).toMatchObject({ status: 201, body: { programmed: true } }),
        { timeout: 20_000 },
      )
      expect(await statusAt(String(made.body.secret))).toBe(200)
    },
  )

  test('of a key of a cluster is 409 and names its ApiKey, but its owner may block it', async () => {
    const { call, once, organizationId } = await caller()
    const { id, ...object } = await clusterKey(organizationId)
    const problem = { status: 409, body: { code: 'managed_by_kubernetes', ...object } }
    const headers = { ...once(), 'if-match': '"1"' }
    expect(await call('PATCH', `/keys/${id}`, { body: { rpm: 1 }, headers })).toMatchObject(problem)
    expect(await call('DELETE', `/keys/${id}`)).toMatchObject(problem)
    expect(await call('POST', `/keys/${id}/rotate`, { body: { grace: '0' }, headers })).toMatchObject(problem)
    const shown = { managed_by: 'kubernetes', kubernetes: object, secret_hint: null }
    expect((await call('POST', `/keys/${id}/block`)).body.key).toMatchObject({
      ...shown,
      blocked_by: ['owner'],
    })
    expect((await call('POST', `/keys/${id}/unblock`)).body.key).toMatchObject({ ...shown, status: 'active' })
  })
})

describe('a rotation', () => {
  test('leaves the old secret its grace, and shows the new one once', async () => {
    const { made, call, once } = await caller()
    const { id, secret } = await made()
    const headers = once()
    const rotate = () => call('POST', `/keys/${id}/rotate`, { body: { grace: '1h' }, headers })
    const { status, body } = await rotate()
    expect([status, body.programmed]).toEqual([200, true])
    const hint = `${secret.slice(0, 15)}…${secret.slice(-4)}`
    expect(body.key.secrets_in_grace).toMatchObject([{ secret_hint: hint }])
    expect(body.key.secret_hint).not.toBe(hint)
    expect([await statusAt(secret), await statusAt(String(body.secret))]).toEqual([200, 200])
    expect(await rotate()).toMatchObject({ status: 200, body: { secret: null, key: { id } } })
  })

  test('leaves at most 10 secrets in their grace; without a grace it always works', async () => {
    const { made, call, once } = await caller()
    const { id } = await made()
    const rotate = (grace: string) => call('POST', `/keys/${id}/rotate`, { body: { grace }, headers: once() })
    for (let count = 0; count < 10; count++) expect((await rotate('24h')).status).toBe(200)
    expect(await rotate('24h')).toMatchObject({ status: 409, body: { code: 'too_many_secrets' } })
    expect(await rotate('0')).toMatchObject({ status: 200, body: { key: { secrets_in_grace: [] } } })
    expect((await rotate('2h')).status).toBe(422)
  })
})

describe('the balance', () => {
  test('at zero shows every key as blocked, after a credit as active, and a manual block stays', async () => {
    const { made, call, read, organizationId } = await caller({ balanceNano: 0n })
    const [{ id }, { id: blocked }] = [await made(), await made()]
    await call('POST', `/keys/${blocked}/block`)
    expect(await read(id)).toMatchObject({ status: 'blocked', blocked_by: ['balance'] })
    expect(await read(blocked)).toMatchObject({ status: 'blocked', blocked_by: ['owner', 'balance'] })
    await give(organizationId, 1n)
    expect(await read(id)).toMatchObject({ status: 'active', blocked_by: [] })
    expect(await read(blocked)).toMatchObject({ status: 'blocked', blocked_by: ['owner'] })
  })
})

describe('effective limits', () => {
  const limitsOf = async (call: Awaited<ReturnType<typeof caller>>['call'], id: string, query = '') => {
    const { status, body } = await call('GET', `/keys/${id}/effective-limits${query}`)
    expect(status).toBe(200)
    const of = (scope: string) => body.limits.find((limit) => limit.scope === scope)
    return {
      body,
      of,
      refusing: body.limits.filter((limit) => limit.would_refuse).map(({ scope }) => scope),
    }
  }

  test('show what is used and left, and which would reject, with the gateway’s own codes', async () => {
    const { made, call } = await caller()
    const limits = { rpm: 2, daily_budget_rub: '5', monthly_budget_rub: '50', allowed_models: [model] }
    const { id, secret } = await made(limits)
    const fresh = await limitsOf(call, id)
    expect(fresh.body).toMatchObject({ live: true, would_refuse: false })
    expect(fresh.of('rpm')).toMatchObject({ limit: 2, used: 0, remaining: 2, resets_at: null })
    expect(fresh.of('balance')).toMatchObject({ limit: '100', held: '0', remaining: '100' })
    expect(fresh.of('daily_budget')).toMatchObject({ limit: '5', used: '0', held: '0', remaining: '5' })
    expect(fresh.of('monthly_budget')).toMatchObject({ limit: '50', used: '0', held: '0', remaining: '50' })
    expect([await statusAt(secret), await statusAt(secret)]).toEqual([200, 200])
    const spent = await limitsOf(call, id, '?model=other/model')
    expect(spent.refusing).toEqual(['models', 'rpm'])
    const refused = await post(gateway, secret, { model, messages: [{ role: 'user', content: 'x' }] })
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    const words = ({ code, message }: { code?: unknown; message?: unknown }) => [
      code,
      String(message).replace(/\d+ s\.$/, ''),
    ]
    expect(words(spent.of('rpm') ?? {})).toEqual(words(error))
    expect(spent.of('models')).toMatchObject({ code: 'model_not_allowed', limit: [model] })
    const { body } = await call('GET', `/keys/${id}/refusals`)
    expect(body).toMatchObject({
      live: true,
      data: [{ code: 'rate_limit_exceeded', scope: 'rpm', model, limit: 2, used: 2 }],
    })
    const other = await made({ allowed_models: ['other/model'] })
    expect(await statusAt(other.secret)).toBe(403)
    // A gateway lists what it rejects before admission afterwards.
    const all = await vi.waitFor(async () => {
      const { body: listed } = await call('GET', '/refusals')
      expect(listed).toMatchObject({
        live: true,
        data: [
          {
            code: 'model_not_allowed',
            scope: 'models',
            api_key_id: other.id,
            api_key_name: expect.any(String),
          },
          { ...body.data[0], api_key_id: id },
        ],
      })
      return listed
    })
    expect((await call('GET', '/refusals?limit=1')).body.data).toEqual(all.data.slice(0, 1))
  })

  test('list rejections of one key and of all page by page, also of a revoked key', async () => {
    const { made, call } = await caller()
    const [one, other] = [await made({}), await made({ allowed_models: ['other/model'] })]
    const ids: unknown[] = []
    for (const { secret } of [one, other, other, one, other]) {
      const body = { model: 'no/such', messages: [{ role: 'user', content: 'x' }] }
      ids.unshift((await post(gateway, secret, body)).headers.get('x-gateway-request-id'))
    }
    const pages = async (path: string) => {
      const found: unknown[] = []
      for (let next: string | null = '?limit=2'; next !== null; ) {
        const { status, body } = await call('GET', `${path}${next}`)
        expect([status, body.data.length <= 2]).toEqual([200, true])
        found.push(...body.data)
        next = body.next_cursor && `?limit=2&cursor=${body.next_cursor}`
      }
      return found
    }
    await vi.waitFor(async () => expect(await pages('/refusals')).toHaveLength(5))
    expect(await pages('/refusals')).toMatchObject(ids.map((request_id) => ({ request_id })))
    await call('DELETE', `/keys/${one.id}`)
    for (const [{ id }, code, status, at] of [
      [one, 'model_not_found', 404, [1, 4]],
      [other, 'model_not_allowed', 403, [0, 2, 3]],
    ] as const)
      expect(await pages(`/keys/${id}/refusals`)).toMatchObject(
        at.map((n) => ({ request_id: ids[n], code, status, model: 'no/such' })),
      )
    const gone = Buffer.from(JSON.stringify({ request_id: randomUUID() })).toString('base64url')
    expect((await call('GET', `/refusals?cursor=${gone}`)).body).toEqual({
      live: true,
      data: [],
      next_cursor: null,
    })
  })

  test('find a rejection by any id that its client received; of others they explain why there is none', async () => {
    const { made, call } = await caller()
    const { id, secret } = await made({})
    const { headers } = await post(gateway, secret, { model: 'no/such', messages: [] })
    const requestId = String(headers.get('x-gateway-request-id'))
    const asked = [
      requestId,
      requestId.toUpperCase(),
      `chatcmpl-${requestId}`,
      `resp_${requestId}`,
      `msg_${requestId}`,
    ]
    for (const sought of asked)
      await vi.waitFor(async () =>
        expect(await call('GET', `/refusals/${sought}`)).toMatchObject({
          status: 200,
          body: {
            request_id: requestId,
            status: 400,
            code: 'invalid_value',
            param: 'messages',
            api_key_id: id,
          },
        }),
      )
    const stranger = await caller()
    const explained = async (sought: string) => (await stranger.call('GET', `/refusals/${sought}`)).body.code
    const unknown = requestId.replace(/.{12}$/, '000000000000')
    expect(await Promise.all([requestId, unknown].map(explained))).toEqual([
      'request_not_settled',
      'request_not_settled',
    ])
    expect(await explained('01900000-0000-7000-8000-000000000000')).toBe('request_too_old')
    for (const wrong of [randomUUID(), 'gen-1', '%00', 'x'.repeat(1_000)])
      expect(await explained(wrong)).toBe('not_found')
  })

  test('of a key that is blocked, expired or without money still show all other limits', async () => {
    const { made, call, organizationId } = await caller()
    const { id } = await made({ expires_at: '2020-01-01T00:00:00Z' })
    await call('POST', `/keys/${id}/block`)
    await pool.query('update org_account set balance = 0 where organization_id = $1', [organizationId])
    const { body, of, refusing } = await limitsOf(call, id)
    expect(body).toMatchObject({ live: true, would_refuse: true })
    expect(refusing?.slice(0, 2)).toEqual(['expiry', 'block'])
    expect(of('block')).toMatchObject({ code: 'api_key_blocked' })
    expect(of('rpm')).toMatchObject({ limit: 600, used: 0 })
  })

  test('are what Postgres knows while Redis is down', async () => {
    const away = await startWeb({ REDIS_URL: 'redis://127.0.0.1:1' })
    const kept = web
    const { made, call } = await caller()
    const { id } = await made({ rpm: 3, daily_budget_rub: '0' })
    web = away
    onTestFinished(() => {
      web = kept
    })
    const { body, of, refusing } = await limitsOf(call, id)
    expect(body).toMatchObject({ live: false, would_refuse: true })
    expect(refusing).toEqual(['daily_budget'])
    expect(of('rpm')).toMatchObject({ limit: 3, used: null, remaining: null })
    expect(of('balance')).toMatchObject({ limit: '100', held: null })
    for (const path of [`/keys/${id}/refusals`, '/refusals'])
      expect((await call('GET', path)).body).toEqual({ live: false, data: [], next_cursor: null })
    expect(await call('GET', '/refusals/01900000-0000-7000-8000-000000000000')).toMatchObject({
      status: 503,
      body: { code: 'service_unavailable' },
    })
  })
})

test('a key that is made and revoked past the cabinet shows at once', async () => {
  const { call, organizationId } = await caller()
  const { keyId } = await inTestScope(pool, (client) =>
    createKey(client, { organizationId, name: 'by hand', managedBy: 'cabinet' }, pepper),
  )
  expect((await call('GET', '/keys')).body.data).toMatchObject([{ id: keyId, name: 'by hand' }])
  await inTestScope(pool, (client) => revokeKey(client, keyId))
  expect((await call('GET', '/keys')).body.data).toEqual([])
})

test('no store function finds a key of another organization than its transaction names, whatever it asks for', async () => {
  const { organizationId, made } = await caller()
  const { id } = await made()
  const { organizationId: other } = await caller()
  const cabinet = poolAs('model_gateway_cabinet', stack.database)
  await pool.query('insert into key_daily_spend (key_id, day, amount, version) values ($1, $2, 5, 1)', [
    id,
    new Date(Date.now() + 3 * 3_600_000).toISOString().slice(0, 10),
  ])
  await inTestScope(pool, (client) =>
    putResource(client, {
      clusterId: randomUUID(),
      kind: 'ApiKey',
      namespace: 'team',
      name: 'agent',
      subject: id,
      uid: 'u',
      generation: 1,
      revision: null,
      rotationTrigger: null,
      rotatedAt: null,
    }),
  )
  const readAll = (named: string) =>
    inReadScope(cabinet, named, async (client) => [
      (await readKeyOf(client, organizationId, id)) !== undefined,
      (await listKeysOf(client, organizationId, { limit: 9, after: undefined })).length,
      (await readKeyStates(client, [id])).length,
      await countKeysOf(client, organizationId),
      (await readSpentToday(client, organizationId, [id])).size,
      (await findKeyOwners(client, organizationId, [id])).size,
    ])
  expect(await readAll(organizationId)).toEqual([true, 1, 1, 1, 1, 1])
  expect(await readAll(other)).toEqual([false, 0, 0, 0, 0, 0])
  const hold = (named: string) =>
    inTestScope(cabinet, (client) => holdKeyOf(client, organizationId, id), { organizationId: named })
  expect((await hold(organizationId))?.keyId).toBe(id)
  expect(await hold(other)).toBeUndefined()
  await inTestScope(cabinet, (client) => blockKey(client, id, 'owner'), { organizationId: other })
  expect((await readKeyState(pool, id))?.blockedBy).toEqual([])
})

describe('waiting for the data plane', () => {
  test('needs no hint, and ends at once where too many wait', async () => {
    const { made, call } = await caller()
    const { id } = await made()
    await call('POST', `/keys/${id}/block`)
    const programmed = createProgrammedKeys(pool)
    expect(await programmed.wait(id)).toBe(true)
    await pool.query('update api_keys set projected_version = 0 where id = $1', [id])
    const full = Array.from({ length: 200 }, () => programmed.wait(id))
    const begun = performance.now()
    expect(await programmed.wait(id)).toBe(false)
    expect(performance.now() - begun).toBeLessThan(500)
    await pool.query('update api_keys set projected_version = version where id = $1', [id])
    expect(new Set(await Promise.all(full))).toEqual(new Set([true]))
  })
})
