import { execFile } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { endpoint } from '#cabinet/api/endpoint'
import { listBonuses } from '#cabinet/billing/ledger-contracts'
import { setBlocked } from '#cabinet/people/user-block'
import { managementTokens } from '#cabinet/tokens/token-gate'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { createPool } from '#core/db/pool'
import { setOrganizationBlocked } from '#core/keys/organization-block'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { pepper } from '../support/customer.ts'
import { blocksOf } from '../support/document-commands.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { createKeyManager, type WantedKey } from '../support/managed-keys.ts'
import { insertManagementToken } from '../support/management-token.ts'
import { unthrottled } from '../support/no-throttles.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { post, stackOfThisFile, untilOpen } from '../support/stack.ts'

const stack = await stackOfThisFile()
const { pool } = stack.database
let web: Process
let gateway: Process
let model: string

beforeAll(async () => {
  model = await stack.createModel()
  ;[web, gateway] = await Promise.all([
    stack.startWeb({ TRUSTED_PROXY_CIDRS: '127.0.0.0/8' }),
    stack.startGateway(),
    stack.startWorker(),
  ])
  await untilOpen(gateway)
})

type Sent = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }

const anAddress = () => Array.from({ length: 4 }, () => randomInt(1, 255)).join('.')

/** A caller with a separate address, whose calls carry these headers. */
function callerWith(own: Readonly<Record<string, string>>, address: () => string) {
  return async (method: string, path: string, { body, headers }: Sent = {}) => {
    const response = await fetch(`${web.baseUrl.replace('/v1', '')}/api/v1${path}`, {
      method,
      headers: {
        'x-forwarded-for': address(),
        'accept-language': 'en',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...own,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      retryAfter: response.headers.get('retry-after'),
      body: isJson ? JSON.parse(text) : text,
    }
  }
}

function withToken(secret: string, { addresses = 'one' }: { readonly addresses?: 'one' | 'many' } = {}) {
  const one = anAddress()
  return callerWith({ authorization: `Bearer ${secret}` }, addresses === 'one' ? () => one : anAddress)
}

/** An organization with money, and its owner in a browser. */
async function owner() {
  const person = await signedIn(pool)
  await inTestScope(pool, (client) =>
    credit(client, {
      organizationId: person.organizationId,
      kind: 'top_up',
      refId: randomUUID(),
      amount: nanoRub(100_000_000_000n),
    }),
  )
  const address = anAddress()
  const call = callerWith({ cookie: person.cookie, 'sec-fetch-site': 'same-origin' }, () => address)
  const make = (fields: object = {}, key = randomUUID()) =>
    call('POST', '/tokens', {
      body: { name: 'terraform', scopes: ['keys'], expires_in_days: 30, ...fields },
      headers: { 'idempotency-key': key },
    })
  async function made(scopes: readonly string[] = ['keys']) {
    const { status, body } = await make({ scopes })
    expect(status).toBe(201)
    return { id: String(body.token.id), secret: String(body.secret) }
  }
  return { ...person, call, make, made }
}

/** The answer to a reading of keys. */
async function told(secret: string): Promise<string> {
  const { status, body } = await withToken(secret)('GET', '/keys')
  return status === 200 ? '200' : `${status} ${body.code}`
}

describe('a new token', () => {
  test('is answered once with its secret, works at the next call, and is stored as a hash', async () => {
    const { make, call, organizationId, userId } = await owner()
    const key = randomUUID()
    const { status, body } = await make({ name: ' ci ', scopes: ['keys', 'usage'] }, key)
    const secret = String(body.secret)
    expect(status).toBe(201)
    expect(body.token).toMatchObject({
      name: 'ci',
      scopes: ['keys', 'usage'],
      status: 'active',
      secret_hint: `${secret.slice(0, 15)}…${secret.slice(-4)}`,
      created_by: `${userId}@example.com`,
      last_used_at: null,
    })
    expect(await told(secret)).toBe('200')
    const again = await make({ name: ' ci ', scopes: ['keys', 'usage'] }, key)
    expect([again.status, again.body.token.id, again.body.secret]).toEqual([201, body.token.id, null])
    const { rows } = await pool.query(
      `select (select json_agg(t)::text from management_tokens t where organization_id = $1)
              || (select json_agg(a)::text from audit_log a where organization_id = $1)
              || (select json_agg(i)::text from idempotency_keys i) as everything`,
      [organizationId],
    )
    expect(rows[0].everything).not.toContain(secret.slice(15))
    const listed = await call('GET', '/tokens')
    expect(listed.body.data).toEqual([{ ...body.token, last_used_at: expect.stringMatching(/^\d{4}-.*Z$/) }])
  })

  test.each([
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['keys', 'admin'] }, 'scopes.1'],
    ['a scope twice', { scopes: ['keys', 'keys'] }, 'scopes'],
    ['no name', { name: '  ' }, 'name'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
    ['no end', { expires_in_days: 0 }, 'expires_in_days'],
    ['two years', { expires_in_days: 730 }, 'expires_in_days'],
  ])('with %s is rejected at the field', async (_, fields, path) => {
    const { make } = await owner()
    const { status, body } = await make(fields)
    expect([status, body.errors?.map((error: { path: string }) => error.path)]).toEqual([422, [path]])
  })

  test('is one of at most 20, also when many are created at once; a revoked one makes room', async () => {
    const { make, call } = await owner()
    const answers = await Promise.all(Array.from({ length: 22 }, () => make()))
    const statuses = answers.map(({ status }) => status)
    expect([statuses.filter((s) => s === 201).length, statuses.filter((s) => s === 409).length]).toEqual([
      20, 2,
    ])
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('too_many_tokens')
    const one = answers.find(({ status }) => status === 201)
    await call('DELETE', `/tokens/${one?.body.token.id}`)
    expect((await make()).status).toBe(201)
  })

  test('is audited when it is created and revoked, and its changes are audited as its own', async () => {
    const { made, call, organizationId, userId } = await owner()
    const { id, secret } = await made()
    const created = await withToken(secret)('POST', '/keys', {
      body: { name: 'by a token' },
      headers: { 'idempotency-key': randomUUID() },
    })
    expect(created.status).toBe(201)
    expect((await call('DELETE', `/tokens/${id}`)).status).toBe(204)
    expect((await call('DELETE', `/tokens/${id}`)).status).toBe(404)
    const { rows } = await pool.query(
      `select action, actor_kind as kind, actor_id as actor, request_id is not null as traced from audit_log
        where organization_id = $1 and action in ('token.create', 'key.create', 'token.revoke') order by id`,
      [organizationId],
    )
    expect(rows).toEqual([
      { action: 'token.create', kind: 'person', actor: userId, traced: true },
      { action: 'key.create', kind: 'token', actor: id, traced: true },
      { action: 'token.revoke', kind: 'person', actor: userId, traced: true },
    ])
    const { rows: keys } = await pool.query('select created_by from api_keys where id = $1', [
      created.body.key.id,
    ])
    expect(keys).toEqual([{ created_by: null }])
  })
})

describe('a token ends', () => {
  test('at the next call after it was revoked', async () => {
    const { made, call } = await owner()
    const { id, secret } = await made()
    expect(await told(secret)).toBe('200')
    await call('DELETE', `/tokens/${id}`)
    expect(await told(secret)).toBe('401 invalid_management_token')
  })

  test('when it expires; then it is listed as expired and can be revoked', async () => {
    const { organizationId, userId, call } = await owner()
    const fields = { organizationId, userId, scopes: ['keys'] } as const
    const { tokenId, secret } = await insertManagementToken(pool, { ...fields, state: 'expired' })
    expect(await told(secret)).toBe('401 invalid_management_token')
    const { body } = await call('GET', '/tokens')
    expect(body.data).toMatchObject([{ id: tokenId, status: 'expired' }])
    expect((await call('DELETE', `/tokens/${tokenId}`)).status).toBe(204)
  })

  test('while its organization or its creator is blocked, and only then', async () => {
    const { made, organizationId, userId } = await owner()
    const { secret } = await made()
    const blockOrganization = (state: 'blocked' | 'free') =>
      inTestScope(pool, (client) => setOrganizationBlocked(client, organizationId, state))
    const blockCreator = (state: 'blocked' | 'free') =>
      inTestScope(pool, (client) => setBlocked(client, userId, state))
    await blockOrganization('blocked')
    expect(await told(secret)).toBe('403 organization_blocked')
    await blockOrganization('free')
    expect(await told(secret)).toBe('200')
    await blockCreator('blocked')
    expect(await told(secret)).toBe('401 invalid_management_token')
    await blockCreator('free')
    expect(await told(secret)).toBe('200')
  })

  test('not when its creator is removed from the organization: it belongs to the organization', async () => {
    const { made, organizationId, userId } = await owner()
    const { secret } = await made()
    const other = await signedIn(pool, { organizationId })
    await pool.query('delete from memberships where user_id = $1', [userId])
    expect(await told(secret)).toBe('200')
    const asOther = callerWith({ cookie: other.cookie, 'sec-fetch-site': 'same-origin' }, anAddress)
    const { body } = await asOther('GET', '/tokens')
    expect(body.data).toMatchObject([{ created_by: `${userId}@example.com` }])
  })
})

describe('the management API', () => {
  test('reads no cookie where a token is sent: a valid session does not widen its scopes', async () => {
    const { made, call, cookie } = await owner()
    const { secret } = await made(['usage'])
    const both = callerWith({ authorization: `Bearer ${secret}`, cookie }, anAddress)
    expect((await both('GET', '/keys')).body).toMatchObject({
      status: 403,
      code: 'token_scope_required',
      required_scope: 'keys',
    })
    expect((await both('POST', '/tokens', { body: {} })).body.code).toBe('not_for_tokens')
    expect((await call('GET', '/tokens')).body.data).toHaveLength(1)
  })

  test('serves a session behind a proxy that adds its own text to Authorization', async () => {
    const { cookie } = await owner()
    const proxied = callerWith({ cookie, authorization: 'Bearer of.another.system' }, anAddress)
    expect((await proxied('GET', '/keys')).status).toBe(200)
    const change = await proxied('POST', '/keys', { body: { name: 'x' } })
    expect([change.status, change.body.code]).toEqual([403, 'cross_site_request'])
  })

  test('accepts no API key, and the gateway accepts no token', async () => {
    const { made } = await owner()
    const { secret } = await made(['keys', 'usage', 'billing'])
    const { body } = await withToken(secret)('POST', '/keys', {
      body: { name: 'ci' },
      headers: { 'idempotency-key': randomUUID() },
    })
    expect(await told(String(body.secret))).toBe('401 invalid_management_token')
    const answer = await post(gateway, secret, { model, messages: [{ role: 'user', content: 'x' }] })
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: { code: 'invalid_api_key' } }])
    const receipts = await fetch(`${web.baseUrl}/requests/${randomUUID()}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(receipts.status).toBe(401)
  })

  test('serves only the organization of the token, whichever the call names', async () => {
    const { made, organizationId } = await owner()
    const { organizationId: other } = await owner()
    const { secret } = await made()
    const call = withToken(secret)
    const own = await call('GET', '/keys', { headers: { 'organization-id': organizationId.toUpperCase() } })
    expect(own.status).toBe(200)
    const foreign = await call('GET', '/keys', { headers: { 'organization-id': other } })
    expect([foreign.status, foreign.body.code]).toEqual([403, 'other_organization'])
    expect((await call('GET', `/keys?organization_id=${other}`)).body.code).toBe('other_organization')
  })

  test('shows the balance only to a token with the scope billing', async () => {
    const { made } = await owner()
    const [keys, both] = [await made(['keys']), await made(['keys', 'billing'])]
    const { body } = await withToken(keys.secret)('POST', '/keys', {
      body: { name: 'ci' },
      headers: { 'idempotency-key': randomUUID() },
    })
    const balanceOf = async (secret: string) => {
      const read = await withToken(secret)('GET', `/keys/${body.key.id}/effective-limits`)
      return read.body.limits.find(({ scope }: { scope: string }) => scope === 'balance').limit
    }
    expect([await balanceOf(keys.secret), await balanceOf(both.secret)]).toEqual([null, '100'])
  })

  test('limits a token to 600 calls a minute from all addresses together, and no other token', async () => {
    const { made } = await owner()
    const [busy, other] = [await made(), await made()]
    const call = withToken(busy.secret, { addresses: 'many' })
    const statuses = new Map<number, number>()
    for (let sent = 0; sent < 620; sent += 20)
      for (const { status } of await Promise.all(
        Array.from({ length: 20 }, () => call('GET', '/keys?limit=1')),
      ))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
    expect(Object.fromEntries(statuses)).toEqual({ 200: 600, 429: 20 })
    expect(Number((await call('GET', '/keys')).retryAfter)).toBeGreaterThan(0)
    expect(await told(other.secret)).toBe('200')
  })

  test('answers 503 when Postgres is unavailable, never 401; a made-up token is rejected without asking it', async () => {
    const away = createPool({ databaseUrl: 'postgres://nobody@127.0.0.1:9/none', applicationName: 'test' })
    const quiet = () => undefined
    const app = buildApp({
      sessions: userSessions(away),
      tokens: managementTokens(away, pepper),
      metrics: createWebMetrics(),
      endpoints: [endpoint(listBonuses, async () => ({ problem: { code: 'internal' } }))],
      trustedProxies: [],
      appOrigin: 'http://localhost',
      ...unthrottled,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    })
    onTestFinished(async () => {
      await app.close()
      await away.end()
    })
    const { secret } = await (await owner()).made()
    const madeUp = `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`
    const statuses = []
    for (const each of [secret, madeUp]) {
      const headers = { authorization: `Bearer ${each}` }
      statuses.push((await app.inject({ url: '/api/v1/bonuses', headers })).statusCode)
    }
    expect(statuses).toEqual([503, 401])
  })
})

test('keys are managed as Terraform does: applied twice, the second run changes nothing; drift is found and undone', async () => {
  const { made, call } = await owner()
  const { secret } = await made()
  const asToken = withToken(secret)
  const manager = createKeyManager(asToken)
  const name = `batch-${randomUUID()}`
  const batch: WantedKey = { name, rpm: 60, daily_budget_rub: '250.5', allowed_models: [model] }
  const web: WantedKey = { name: `web ${name}`, rpm: null, daily_budget_rub: null, allowed_models: null }

  expect(await manager.apply({ batch, web })).toEqual(['create batch', 'create web'])
  const ofBatch = manager.states.get('batch')
  const answer = await post(gateway, String(ofBatch?.secret), {
    model,
    messages: [{ role: 'user', content: 'x' }],
  })
  expect(answer.status).toBe(200)
  expect(await manager.apply({ batch, web })).toEqual([])

  expect(await manager.apply({ batch: { ...batch, rpm: 120 }, web })).toEqual(['update batch'])
  expect(await manager.apply({ batch: { ...batch, rpm: 120 }, web })).toEqual([])

  const shown = await call('GET', `/keys/${ofBatch?.id}`)
  const byHand = { body: { rpm: 7, daily_budget_rub: null }, headers: { 'if-match': String(shown.etag) } }
  expect((await call('PATCH', `/keys/${ofBatch?.id}`, byHand)).status).toBe(200)
  const stale = { ...byHand, body: { rpm: 8 } }
  expect((await asToken('PATCH', `/keys/${ofBatch?.id}`, stale)).status).toBe(412)
  expect(await manager.apply({ batch, web })).toEqual(['update batch'])
  expect(await manager.apply({ batch, web })).toEqual([])

  await call('DELETE', `/keys/${ofBatch?.id}`)
  expect(await manager.apply({ batch, web })).toEqual(['create batch'])

  const another = createKeyManager(asToken)
  expect(await another.apply({ batch, web })).toEqual([])
  expect(another.states.get('batch')?.id).toBe(manager.states.get('batch')?.id)

  expect(await manager.apply({})).toEqual(['delete batch', 'delete web'])
  expect(await manager.apply({})).toEqual([])
  expect((await asToken('GET', '/keys')).body.data).toEqual([])
})

test('the documented commands create, find, change and revoke a key', async () => {
  const { made, organizationId } = await owner()
  const { secret } = await made()
  const source = readFileSync(join(import.meta.dirname, '../../docs/use/management-api.md'), 'utf8')
  const commands = blocksOf('docs/use/management-api.md', source)
    .filter(({ section }) => section === 'Manage a key')
    .map(({ text }) => text)
  expect(commands).toHaveLength(4)
  const cwd = folderOfThisTest('management-api')
  await promisify(execFile)('bash', ['-euc', commands.join('\n')], {
    cwd,
    env: { ...inheritedEnvironment, CABINET: web.baseUrl.replace('/v1', ''), TOKEN: secret },
  })
  const { rows } = await pool.query(
    'select name, rpm, revoked_at is not null as "isRevoked" from api_keys where organization_id = $1',
    [organizationId],
  )
  expect(rows).toEqual([{ name: 'batch', rpm: 120, isRevoked: true }])
})
