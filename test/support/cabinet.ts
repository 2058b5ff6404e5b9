import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { afterAll, expect } from 'vitest'
import { proofHeader } from '#cabinet/api/proof-of-work'
import { readConfig } from '#cabinet/web/config'
import { startWeb } from '#cabinet/web/start-web'
import { solve } from '#standalone/solve-proof'
import { newClientAddress } from './client-address.ts'
import { databaseOfThisFile, type TestDatabase, urlAs } from './postgres.ts'
import { redisOfThisFile } from './redis.ts'
import { webSettings } from './web-settings.ts'

/** The web process on a database and a Redis of this test file. */
export type Cabinet = {
  readonly database: TestDatabase
  readonly pool: Pool
  /** `http://127.0.0.1:…`, without a slash. */
  readonly url: string
  /** Everything that it logged, a JSON line each. */
  readonly lines: readonly string[]
  /** A user with a separate browser, at a separate network address. */
  visitor(): Visitor
}

type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Its content, if it is JSON; `{}` otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects
  readonly body: any
}

/** Calls the cabinet as a browser on its own pages does: it keeps the session's cookie, and registers with a proof of work. */
export type Visitor = {
  cookie: string | undefined
  /** By which its browser is known again. */
  device: string | undefined
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
}

/** Starts it at the top of a test file; it ends with the file. */
export async function cabinetOfThisFile(env: NodeJS.ProcessEnv = {}): Promise<Cabinet> {
  const [database, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
  const lines: string[] = []
  const hear = (level: string) => (facts: object, message: string) => {
    const error = 'err' in facts && facts.err instanceof Error ? { err: facts.err.stack } : {}
    const line = JSON.stringify({ level, message, ...facts, ...error })
    lines.push(line)
    if (level === 'error') process.stderr.write(`${line}\n`)
  }
  const web = await startWeb(
    readConfig({
      ...webSettings,
      DATABASE_URL: urlAs('model_gateway_cabinet', database.url),
      REDIS_URL: redis.url,
      // So that each visitor has an address and separate throttles.
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      ...env,
    }),
    { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') },
  )
  afterAll(() => web.stop())
  const url = `http://127.0.0.1:${web.port}`
  return { database, pool: database.pool, url, lines, visitor: () => visitorOf(url) }
}

/** A user who calls the cabinet at this address, from a separate network address if a proxy is trusted. */
export function visitorOf(url: string): Visitor {
  const address = newClientAddress()
  const visitor: Visitor = {
    cookie: undefined,
    device: undefined,
    async call(method, path, body, headers = {}) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          'x-forwarded-for': address,
          'accept-language': 'en',
          cookie: [visitor.cookie, visitor.device].filter((pair) => pair !== undefined).join('; '),
          ...(visitor.cookie === undefined ? {} : { 'sec-fetch-site': 'same-origin' }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';')
        if (/_device=/.test(pair)) visitor.device = pair
        else visitor.cookie = pair.endsWith('=') ? undefined : pair
      }
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') === true
      if (response.status === 428 && path === '/auth/register' && !(proofHeader in headers)) {
        const proof = await solve(JSON.parse(text).challenge)
        return visitor.call(method, path, body, { ...headers, [proofHeader]: proof })
      }
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson ? JSON.parse(text) : {},
      }
    },
    get: (path) => visitor.call('GET', path),
    post: (path, body = {}) => visitor.call('POST', path, body),
  }
  return visitor
}

/** An address that no one has, at a domain that no one has: the trials of a domain are few. */
export function newEmail(): string {
  return `anna@p-${randomBytes(6).toString('hex')}.example`
}

export const aPassword = 'correct horse battery staple'

/** What registration takes. */
export function registration(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { email: newEmail(), password: aPassword, accept_offer: true, accept_pdn: true, ...fields }
}

type OutboxLetter = {
  readonly kind: string
  readonly recipient: string
  readonly locale: string
  readonly vars: Readonly<Record<string, string>>
}

/** Emails to an address that wait in the outbox, in their order. */
export async function lettersTo(pool: Pool, email: string): Promise<readonly OutboxLetter[]> {
  const { rows } = await pool.query<OutboxLetter>(
    'select kind, recipient, locale, vars from email_outbox where lower(recipient) = lower($1) order by created_at',
    [email],
  )
  return rows
}

/** The token in the newest email of a kind to an address. */
export async function tokenTo(pool: Pool, email: string, kind = 'verify_email'): Promise<string> {
  const letter = (await lettersTo(pool, email)).findLast((one) => one.kind === kind)
  return new URL(letter?.vars.link ?? 'none:').hash.replace('#token=', '')
}

/** As if the last letters to an address had been written so many seconds earlier: a test does not wait for a pause. */
export async function letTimePass(pool: Pool, email: string, seconds: number): Promise<void> {
  await pool.query(
    `update email_tokens set created_at = created_at - make_interval(secs => $2), expires_at = expires_at - make_interval(secs => $2)
      where user_id = (select id from users where lower(email) = lower($1))`,
    [email, seconds],
  )
  await pool.query(
    'update email_outbox set due_at = due_at - make_interval(secs => $2) where lower(recipient) = lower($1)',
    [email, seconds],
  )
}

export type SignedUp = {
  readonly visitor: Visitor
  readonly email: string
  readonly userId: string
  readonly organizationId: string
}

/** A user who has registered, confirmed the address, and is signed in: all of it over HTTP. */
export async function signUp(
  cabinet: Pick<Cabinet, 'pool' | 'visitor'>,
  email = newEmail(),
): Promise<SignedUp> {
  const visitor = cabinet.visitor()
  expect((await visitor.post('/auth/register', registration({ email }))).status).toBe(202)
  const token = await tokenTo(cabinet.pool, email)
  expect((await visitor.post('/auth/verify-email', { token })).status).toBe(204)
  const { body } = await visitor.get('/me')
  return { visitor, email, userId: body.id, organizationId: body.organization.id }
}

/** The same request id for several calls: their answers can then be the same to the byte. */
export const sameRequestId = { 'x-request-id': randomUUID() }
