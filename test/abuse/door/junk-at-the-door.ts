import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { makeAdministrator as makeAdministratorIn } from '#cabinet/administrators/made-administrator'
import { createPool } from '#core/db/pool'
import { startRedis } from '#standalone/redis'
import { codeOf, setUpAdministrator } from '../../support/administrators.ts'
import { aPassword, newEmail, registration, tokenTo, type Visitor, visitorOf } from '../../support/cabinet.ts'
import { newClientAddress } from '../../support/client-address.ts'
import { urlAs } from '../../support/postgres.ts'
import { startProcess, untilReady } from '../../support/processes.ts'
import { postProven } from '../../support/proof.ts'
import { inTestScope } from '../../support/scope.ts'
import { administrationSettings, webSettings } from '../../support/web-settings.ts'

/** Junk that every endpoint takes for a call: valid bodies without an owner. */
const junkOf: Readonly<Record<string, () => object>> = {
  '/auth/login': () => ({ email: newEmail(), password: aPassword }),
  '/auth/register': () => registration(),
  '/auth/verify-email': () => ({ token: randomBytes(32).toString('base64url') }),
  '/auth/resend-verification': () => ({ email: newEmail() }),
  '/auth/password/forgot': () => ({ email: newEmail() }),
  '/auth/password/reset': () => ({ token: randomBytes(32).toString('base64url'), password: aPassword }),
}

/** The public endpoints that throttle. */
export const doors: readonly string[] = Object.keys(junkOf)

/** Bodies that no endpoint takes: malformed ones, and valid JSON of another shape. */
const invalidBodies = ['{', '[]', '{"email": 1}', JSON.stringify({ email: 'x'.repeat(10_000) })]

/** Of each kind. */
const junkPerS = 50
/** Sequential, each from another address. */
const genuinePauseMs = 500

export type DoorReport = {
  /** Answers to the junk, by status. */
  readonly junk: Readonly<Record<number, number>>
  /** What people did, and how it went wrong: empty. */
  readonly failures: readonly string[]
  readonly genuineCount: number
  /** With the proofs of work that were asked for. */
  readonly p95Ms: number
}

type Genuine = { readonly ms: number; readonly failure: string | undefined }

const p95MsMax = 2_000

/** What must not be, where an attack had no effect. */
export function doorFaults({ failures, p95Ms }: DoorReport): readonly string[] {
  const slow = p95Ms > p95MsMax ? [`p95 of genuine calls is ${Math.round(p95Ms)} ms`] : []
  return [...new Set(failures), ...slow]
}

/** A cabinet with its own Redis in a separate process, so that attackers use no processor time of its threads. */
export async function startDoors(databaseUrl: string) {
  const pool = createPool({ databaseUrl, applicationName: 'people of a test' })
  const redis = await startRedis({ appendonly: 'no' })
  const web = await startProcess('cabinet/web/main.ts', {
    ...webSettings,
    DATABASE_URL: urlAs('model_gateway_cabinet', databaseUrl),
    REDIS_URL: redis.url,
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    LOG_LEVEL: 'info',
  })
  const administration = await startProcess('cabinet/administration/main.ts', {
    ...administrationSettings,
    DATABASE_URL: urlAs('model_gateway_administration', databaseUrl),
    REDIS_URL: redis.url,
    TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    LOG_LEVEL: 'info',
  })
  await Promise.all([web, administration].map(untilReady))
  return {
    url: web.baseUrl.replace(/\/v1$/, ''),
    administrationUrl: administration.baseUrl.replace(/\/v1$/, ''),
    pool,
    async [Symbol.asyncDispose]() {
      await Promise.all([web.stop(), administration.stop()])
      await redis[Symbol.asyncDispose]()
      await pool.end()
    },
  }
}

/** Sends 50 valid junk calls and 50 invalid ones a second to one endpoint, each from another address, while people use the cabinet. */
export async function junkAtTheDoor(
  cabinet: { readonly url: string; readonly administrationUrl: string; readonly pool: Pool },
  door: string,
  forMs: number,
): Promise<DoorReport> {
  const administrator = await makeAdministrator(cabinet.administrationUrl, cabinet.pool)
  const endsAtMs = performance.now() + forMs
  const isOver = () => performance.now() > endsAtMs
  const [junk, all] = await Promise.all([
    sendJunk(cabinet.url, door, isOver),
    genuineCalls(cabinet, administrator, isOver),
  ])
  const times = all.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return {
    junk,
    failures: all.flatMap(({ failure }) => failure ?? []),
    genuineCount: all.length,
    p95Ms: times[Math.floor(times.length * 0.95)] ?? 0,
  }
}

async function sendJunk(url: string, door: string, isOver: () => boolean) {
  const statuses: Record<number, number> = {}
  const running = new Set<Promise<void>>()
  for (let sent = 0, fromMs = performance.now(); !isOver(); sent++) {
    for (const body of [JSON.stringify(junkOf[door]?.()), invalidBodies[sent % invalidBodies.length] ?? '']) {
      const call = postJunk(url, door, body)
        .then((status) => {
          statuses[status] = (statuses[status] ?? 0) + 1
        })
        .finally(() => running.delete(call))
      running.add(call)
    }
    await pause(Math.max(0, fromMs + (sent * 1_000) / junkPerS - performance.now()))
  }
  await Promise.all(running)
  return statuses
}

/** From its own address, without a proof of work: a client that computes one is as slow as a user. */
async function postJunk(url: string, door: string, body: string): Promise<number> {
  const address = newClientAddress()
  const { status } = await fetch(`${url}/api/v1${door}`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, 'content-type': 'application/json' },
    body,
  })
  return status
}

async function genuineCalls(
  { url, pool }: { readonly url: string; readonly pool: Pool },
  administrator: Awaited<ReturnType<typeof makeAdministrator>>,
  isOver: () => boolean,
): Promise<readonly Genuine[]> {
  const all: Genuine[] = []
  while (!isOver()) {
    const person = visitorOf(url)
    const email = newEmail()
    const step = async (name: string, expected: number, act: () => Promise<{ readonly status: number }>) => {
      const from = performance.now()
      const { status } = await act()
      const failure = status === expected ? undefined : `${name}: ${status}`
      all.push({ ms: performance.now() - from, failure })
    }
    const post = (who: Visitor, path: string, body: object) => () => postProven(who, path, body)
    await step('registration', 202, post(person, '/auth/register', registration({ email })))
    const token = await tokenTo(pool, email)
    await step('confirmation', 204, post(person, '/auth/verify-email', { token }))
    const login = { email, password: aPassword }
    await step('sign-in on another device', 200, post(visitorOf(url), '/auth/login', login))
    await step('sign-in on a known device', 200, () => person.post('/auth/login', login))
    await step('forgotten password', 202, post(visitorOf(url), '/auth/password/forgot', { email }))
    const reset = {
      token: await tokenTo(pool, email, 'reset_password'),
      password: `${randomUUID()} ${randomInt(9)}`,
    }
    await step('reset', 204, post(visitorOf(url), '/auth/password/reset', reset))
    const administering = await administrator.signIn()
    await step(
      'administrator on another device',
      204,
      post(administering.visitor, '/auth/login', administering.login()),
    )
    await step('administration', 200, () => administering.visitor.get('/admin/organizations'))
    await pause(genuinePauseMs)
  }
  return all
}

/** An administrator with a password and a second factor, who signs in from a new device each time. */
async function makeAdministrator(url: string, pool: Pool) {
  const email = newEmail()
  const made = await inTestScope(pool, (client) => makeAdministratorIn(client, email, 'make'))
  if (!('token' in made)) throw new Error(`${email} is known`)
  const secret = await setUpAdministrator(visitorOf(url), made.token)
  return {
    async signIn() {
      // A code is good once in 30 s, and this administrator is back sooner.
      await pool.query('update administrators set totp_last_step = 0 where email = $1', [email])
      return {
        visitor: visitorOf(url),
        login: () => ({ email, password: aPassword, code: codeOf(secret) }),
      }
    },
  }
}
