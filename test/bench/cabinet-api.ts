import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { z } from 'zod'
import { createPool } from '#core/db/pool'
import { startRedis } from '#standalone/redis'
import { newClientAddress } from '../support/client-address.ts'
import { uuidV7 } from '../support/customer.ts'
import { secrets, startProcess } from '../support/processes.ts'
import { redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationSettings } from '../support/web-settings.ts'

/**
 * `node test/bench/cabinet-api.ts`: measures each endpoint of the cabinet on the database at DATABASE_URL,
 * filled by `npm run seed`, for its largest organization. It runs its own web process, worker and Redis, with
 * row-level security on, one call after the other over one connection.
 */
const { values: said } = parseArgs({
  options: { calls: { type: 'string', default: '200' }, only: { type: 'string', default: '' } },
})
const callCount = z.coerce.number().int().positive().parse(said.calls)
const databaseUrl = z.url({ error: 'DATABASE_URL must be set' }).parse(process.env.DATABASE_URL)
const warmUpCount = 20
const appUrl = 'http://localhost:3000'
const dayMs = 86_400_000

type Call = { readonly path: string; readonly method?: string; readonly body?: object }
type Case = {
  readonly name: string
  readonly call: (n: number) => Call
  /** An administrator's. */
  readonly isAdmin?: true
  /** Changes need the ETag of what they change. */
  readonly etagOf?: string
}

const pool = createPool({ databaseUrl, applicationName: 'bench' })
await pool.query('update invariant_audit set began_at = now()')
const redis = await startRedis({ appendonly: 'no', logins: redisLogins })
const env = { ...secrets, LOG_LEVEL: 'warn' }
const [web, administration, worker] = await Promise.all([
  startProcess('cabinet/web/main.ts', {
    ...env,
    DATABASE_URL: asRole('model_gateway_cabinet'),
    REDIS_URL: redisUrlOf.cabinet(redis.url),
    APP_URL: appUrl,
    GATEWAY_BASE_URL: 'http://localhost:8080/v1',
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    CABINET_PORT: '0',
    CABINET_ADMIN_PORT: '0',
    CABINET_HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
  }),
  startProcess('cabinet/administration/main.ts', {
    ...administrationSettings,
    DATABASE_URL: asRole('model_gateway_administration'),
    REDIS_URL: redisUrlOf.cabinet(redis.url),
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    LOG_LEVEL: 'info',
  }),
  startProcess('worker/main.ts', {
    ...env,
    DATABASE_URL: asRole('model_gateway_worker'),
    REDIS_URL: redisUrlOf.worker(redis.url),
    WORKER_ADMIN_PORT: '0',
    WORKER_HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    // Maintenance jobs and full audits would disturb a measurement.
    INVARIANTS_EVERY_MS: String(dayMs),
  }),
])
try {
  await measureAll()
} finally {
  await Promise.all([web.stop(), administration.stop(), worker.stop(), pool.end()])
  await redis[Symbol.asyncDispose]()
}

async function measureAll(): Promise<void> {
  const large = await findLargest(pool)
  const [owner, admin] = await Promise.all([
    signedIn(pool, { organizationId: large.organizationId }),
    signedInAdministrator(pool),
  ])
  process.stdout.write(
    `${large.rows} rows of ${large.allRows} are of this organization; p50, p95, max in ms\n`,
  )
  for (const one of casesOf(large).filter(({ name }) => new RegExp(said.only).test(name))) {
    const cookie = one.isAdmin === true ? admin.cookie : owner.cookie
    const times: number[] = []
    for (let n = -warmUpCount; n < callCount; n++) {
      const ms = await timeOf(one, one.call(n), cookie)
      if (n >= 0) times.push(ms)
    }
    times.sort((a, b) => a - b)
    const at = (part: number) =>
      times[Math.min(times.length - 1, Math.floor(part * times.length))]?.toFixed(1)
    process.stdout.write(`| ${one.name} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |\n`)
  }
}

async function timeOf({ name, etagOf }: Case, { path, method = 'GET', body }: Call, cookie: string) {
  const headers: Record<string, string> = {
    cookie,
    origin: appUrl,
    'accept-language': 'en',
    // So that no throttle counts them together.
    'x-forwarded-for': newClientAddress(),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(path === '/keys' && method === 'POST' ? { 'idempotency-key': randomUUID() } : {}),
  }
  if (etagOf !== undefined) {
    const { headers: found } = await fetch(urlOf(etagOf), { headers: { cookie } })
    headers['if-match'] = found.get('etag') ?? ''
  }
  const startedAt = performance.now()
  const answer = await fetch(urlOf(path), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const ms = performance.now() - startedAt
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${text}`)
  if (answer.status === 201 || answer.status === 202)
    await fetch(urlOf(`/keys/${JSON.parse(text).key.id}`), {
      method: 'DELETE',
      headers: { cookie, origin: appUrl },
    })
  return ms
}

function urlOf(path: string): string {
  const { baseUrl } = path.startsWith('/admin/') ? administration : web
  return `${baseUrl.replace(/\/v1$/, '')}/api/v1${path}`
}

type Large = {
  readonly organizationId: string
  readonly rows: bigint
  readonly allRows: bigint
  readonly keyId: string
  readonly requestId: string
  readonly fromMs: number
}

async function findLargest(of: Pool): Promise<Large> {
  const { rows } = await of.query<Omit<Large, 'fromMs'> & { readonly first: Date }>(
    `select organization_id as "organizationId", version as rows, (select sum(version)::bigint from org_account) as "allRows",
            (select id from api_keys k where k.organization_id = a.organization_id and revoked_at is null order by id limit 1) as "keyId",
            (select id from requests r where r.organization_id = a.organization_id order by ts desc, id desc limit 1) as "requestId",
            (select min(ts) from balance_ledger l where l.organization_id = a.organization_id) as first
       from org_account a order by version desc limit 1`,
  )
  const [found] = rows
  if (found === undefined) throw new Error('DATABASE_URL has no organization: npm run seed fills it')
  return { ...found, fromMs: found.first.getTime() }
}

function casesOf({ keyId, requestId, fromMs, rows }: Large): readonly Case[] {
  const dayOf = (daysAfter: number) => new Date(fromMs + daysAfter * dayMs).toISOString().slice(0, 10)
  const cursor = (place: object) => Buffer.from(JSON.stringify(place)).toString('base64url')
  const get = (path: string, name = `GET ${path}`): Case => ({ name, call: () => ({ path }) })
  const oldDay = `from=${dayOf(10)}&to=${dayOf(11)}`
  const month = `from=${dayOf(0)}&to=${dayOf(30)}`
  const all = `from=${dayOf(0)}&to=${dayOf(62)}`
  const deepRequest = uuidV7(fromMs + 15 * dayMs)
  return [
    ...['/openapi.json', '/me', '/me/sessions', '/me/consents', '/legal/documents'].map((path) => get(path)),
    get('/models/models-with-pricing'),
    {
      name: 'POST /pricing/estimate',
      call: () => ({
        path: '/pricing/estimate',
        method: 'POST',
        body: { model: 'seed/a', input_tokens: 1_000, output_tokens: 500 },
      }),
    },
    get('/organization'),
    get('/balance'),
    get('/bonuses'),
    get('/keys'),
    get(`/keys/${keyId}`, 'GET /keys/{id}'),
    get(`/keys/${keyId}/effective-limits`, 'GET /keys/{id}/effective-limits'),
    get(`/keys/${keyId}/refusals`, 'GET /keys/{id}/refusals'),
    get('/ledger?limit=100', 'GET /ledger, newest'),
    get(`/ledger?limit=100&cursor=${cursor({ ledger_seq: String(rows / 2n) })}`, 'GET /ledger, halfway'),
    get(`/ledger?limit=100&${oldDay}`, 'GET /ledger, an old day'),
    get(`/ledger?limit=100&${oldDay}&kind=charge`, 'GET /ledger, its charges'),
    get(`/ledger?limit=100&${month}`, 'GET /ledger, a month'),
    get('/ledger?kind=adjustment', 'GET /ledger, credits'),
    get('/ledger?kind=adjust', 'GET /ledger, corrections (none)'),
    get(`/usage?${oldDay}&bucket=hour`, 'GET /usage, a day by hour and model'),
    get(`/usage?${month}`, 'GET /usage, 30 days by model'),
    get(`/usage?${month}&group_by=key`, 'GET /usage, 30 days by key'),
    get(`/usage?${month}&bucket=hour`, 'GET /usage, 30 days by hour and model'),
    get(`/usage?${all}&group_by=key`, 'GET /usage, all 60 days by key'),
    get('/requests?limit=100', 'GET /requests, newest'),
    get(`/requests?limit=100&cursor=${cursor({ request_id: deepRequest })}`, 'GET /requests, halfway'),
    get(`/requests?limit=100&${oldDay}`, 'GET /requests, an old day'),
    get(`/requests?key_id=${keyId}`, 'GET /requests of a key'),
    get('/requests?model=seed/a', 'GET /requests of a model'),
    get('/requests?outcome=failed', 'GET /requests that failed (none)'),
    get(`/requests/${requestId}`, 'GET /requests/{id}'),
    {
      name: 'POST /keys',
      call: (n) => ({ path: '/keys', method: 'POST', body: { name: `bench ${n}` } }),
    },
    {
      name: 'PATCH /keys/{id}',
      etagOf: `/keys/${keyId}`,
      call: (n) => ({ path: `/keys/${keyId}`, method: 'PATCH', body: { rpm: 1_000 + (n % 2) } }),
    },
    {
      name: 'POST /keys/{id}/block, unblock',
      call: (n) => ({
        path: `/keys/${keyId}/${n % 2 === 0 ? 'block' : 'unblock'}`,
        method: 'POST',
        body: {},
      }),
    },
    ...['/admin/users', '/admin/organizations', '/admin/audit'].map((path) => ({
      ...get(path),
      isAdmin: true as const,
    })),
  ]
}

function asRole(role: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('options', `-c role=${role}`)
  return url.href
}
