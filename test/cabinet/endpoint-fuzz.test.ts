import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Contract } from '#cabinet/api/contract'
import { sealTotpSecret } from '#cabinet/people/totp-code'
import { checkInvariants } from '#core/ledger/invariants'
import { postBatch } from '#core/ledger/post-batch'
import { createModel, createProvider } from '../support/catalog.ts'
import { createCustomer, entryOf } from '../support/customer.ts'
import { isSlowRun } from '../support/environment.ts'
import { type FuzzedCall, fuzzedCalls, type KnownIds } from '../support/fuzzed-calls.ts'
import { rowsOfOrganization } from '../support/organization-rows.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { secrets } from '../support/processes.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationUrl, appUrl } from '../support/web-settings.ts'
import { wholeCabinetOfThisFile } from '../support/whole-cabinet.ts'

const seed = isSlowRun ? 119 : 19
/** Of each endpoint; the slow run takes a minute or two. */
const callCount = isSlowRun ? 200 : 10
/** Calls per endpoint, each with its own caller. */
const laneCount = 4
/** Lanes at once: below the passwords that may be hashed at once. */
const runningMax = 16

const database = await databaseOfThisFile()
const { pool } = database
const redis = await redisOfThisFile()
const { app, administration, ...cabinet } = wholeCabinetOfThisFile(database, redis.url)
const contracts = [...cabinet.contracts, ...administration.contracts]
/** Where an endpoint is served. */
const siteOf = (contract: Contract) =>
  administration.contracts.includes(contract)
    ? { app: administration.app, origin: administrationUrl }
    : { app, origin: appUrl }

type Owned = {
  readonly organizationId: string
  readonly ids: KnownIds
  /** Data that no other user may see. */
  readonly traces: readonly string[]
}

let victim: Owned
let bystander: Owned

beforeAll(async () => {
  await createProvider(pool, { name: 'fuzz', baseUrl: 'http://127.0.0.1:1' })
  await createModel(pool, 'fuzz/model', 'fuzz', { inputNano: 1n, outputNano: 1n })
  ;[victim, bystander] = [await filledOrganization(), await filledOrganization()]
})

async function filledOrganization(): Promise<Owned> {
  const mark = `mark-${randomBytes(6).toString('hex')}`
  const customer = await createCustomer(pool, { balanceNano: 1_000_000_000_000n })
  const { organizationId, keyId } = customer
  const [entry, untold] = [entryOf(customer, 0n), entryOf(customer, 0n)]
  await postBatch(pool, [entry, untold])
  const { userId } = await signedIn(pool, { organizationId })
  await pool.query('update api_keys set name = $2 where id = $1', [keyId, mark])
  await pool.query('update organizations set display_name = $2 where id = $1', [organizationId, mark])
  const { rows } = await pool.query<{ id: string }>('select id from sessions where user_id = $1', [userId])
  const ids = {
    organization_id: [organizationId],
    key_id: [keyId],
    request_id: [entry.requestId],
    user_id: [userId],
    session_id: [rows[0]?.id ?? ''],
  }
  return { organizationId, ids, traces: [mark, untold.requestId] }
}

/** An endpoint's caller and its data; renewed once the caller is signed out. */
async function callerOf({ access }: Contract) {
  if (access.to === 'anyone') return { cookie: undefined, ids: victim.ids }
  // Changes that an administrator may make to any user are not made to the watched users.
  if (access.to === 'administrator') return { cookie: await administratorCookie(), ids: bystander.ids }
  const mine = await filledOrganization()
  const { userId, cookie } = await signedIn(pool, {
    organizationId: mine.organizationId,
    hasTotp: true,
    mfaAt: new Date(),
  })
  const sealed = sealedFor(userId, secrets.CABINET_SEALING_KEY)
  const stage = access.to === 'half_signed_in' ? 'password' : 'complete'
  await pool.query('update users set totp_sealed = $2 where id = $1', [userId, sealed])
  await pool.query('update sessions set stage = $2 where user_id = $1', [userId, stage])
  return { cookie, ids: { ...mine.ids, other: Object.values(victim.ids).flat() } }
}

async function administratorCookie(): Promise<string> {
  const { administratorId, cookie } = await signedInAdministrator(pool)
  const sealed = sealedFor(administratorId, secrets.ADMINISTRATION_SEALING_KEY)
  await pool.query('update administrators set totp_sealed = $2 where id = $1', [administratorId, sealed])
  return cookie
}

function sealedFor(id: string, sealingKey: string): string {
  return sealTotpSecret('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', id, [Buffer.from(sealingKey, 'base64')])
}

type Caller = Awaited<ReturnType<typeof callerOf>>

async function send(contract: Contract, { cookie }: Caller, call: FuzzedCall) {
  const { method, ifMatch, idempotencyKey } = contract
  const site = siteOf(contract)
  const from = cookie === undefined ? {} : { cookie, origin: site.origin }
  const version = ifMatch && call.isCurrent ? await versionAt(call.url, from) : '"1-x"'
  return site.app.inject({
    method,
    url: call.url,
    headers: {
      ...from,
      ...(ifMatch === undefined ? {} : { 'if-match': version }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': randomUUID() }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { payload: call.body }),
  })
}

async function versionAt(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const [path] = url.split('?')
  const { headers: answered } = await app.inject({ url: path ?? url, headers })
  return String(answered.etag ?? '"1-x"')
}

/** The problem of a response; `undefined`: none. */
function findFault({ access }: Contract, { statusCode, headers, body }: Awaited<ReturnType<typeof send>>) {
  if (statusCode >= 500) return `it is a ${statusCode}`
  if (statusCode >= 400 && headers['content-type'] !== 'application/problem+json; charset=utf-8')
    return `a problem comes as ${headers['content-type']}`
  if (access.to === 'administrator') return undefined // they may see all
  return victim.traces.some((trace) => body.includes(trace)) ? 'it shows what is somebody else’s' : undefined
}

const faults: object[] = []
const statuses = new Map<string, Record<number, number>>()

/** Some calls of one endpoint, one after the other; each fault is kept with the call that it was found by. */
async function runLane(contract: Contract, lane: number): Promise<void> {
  const { operation, access } = contract
  let caller = await callerOf(contract)
  const calls = fc.sample(fuzzedCalls(contract, caller.ids), {
    seed: seed + lane,
    numRuns: Math.ceil(callCount / laneCount),
  })
  // Making them takes long: sixteen in a row would let a connection time out that was begun before them.
  await nextTurn()
  const counts = statuses.get(operation) ?? {}
  statuses.set(operation, counts)
  for (const call of calls) {
    const answer = await send(contract, caller, call)
    counts[answer.statusCode] = (counts[answer.statusCode] ?? 0) + 1
    const fault = findFault(contract, answer)
    if (fault !== undefined) faults.push({ operation, fault, ...call })
    const isSignedOut = answer.statusCode === 204 || answer.statusCode === 401
    if (isSignedOut && access.to !== 'anyone') caller = await callerOf(contract)
  }
}

/** So many lanes at once, those of people's endpoints first: these wait on purpose. */
async function runLanes(): Promise<void> {
  const lanes = contracts.flatMap((contract) =>
    Array.from({ length: laneCount }, (_, lane) => ({ contract, lane })),
  )
  const rest = lanes.values()
  const run = async () => {
    for (const { contract, lane } of rest) await runLane(contract, lane)
  }
  await Promise.all(Array.from({ length: runningMax }, run))
}

test('any input to any endpoint: never a 5xx, never a row of another organization', {
  timeout: 3_600_000,
}, async () => {
  const before = await rowsOfOrganization(pool, victim.organizationId)
  await runLanes()
  if (isSlowRun) process.stdout.write(`${JSON.stringify([...statuses], null, 1)}\n`)
  expect(faults.slice(0, 40)).toEqual([])
  expect(await rowsOfOrganization(pool, victim.organizationId)).toEqual(before)
  expect((await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
})
