import { randomUUID } from 'node:crypto'
import { afterAll, expect, test, vi } from 'vitest'
import { proofHeader } from '#cabinet/api/proof-of-work'
import { createKey } from '#core/keys/key-store'
import { checkInvariants } from '#core/ledger/invariants'
import { solve } from '#standalone/solve-proof'
import { newEmail, registration, tokenTo } from '../support/cabinet.ts'
import { pepper } from '../support/customer.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { type Process, startProcess, untilReady } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { openStepGate } from '../support/step-gate.ts'
import { appUrl, webSettings } from '../support/web-settings.ts'

/**
 * Kills the cabinet's web process after the first statement of a call that writes, then after the second, and so on.
 * The last kill is after the commit, before the response.
 */
const database = await databaseOfThisFile()
const { pool } = database
const gate = await openStepGate({ databaseUrl: database.url })
afterAll(() => gate[Symbol.asyncDispose]())
/** More statements than any call sends. */
const statementCountMax = 60

// As if the data plane had each key immediately.
await pool.query(`
  create function project_at_once() returns trigger language plpgsql as $$
  begin new.projected_version := new.version; return new; end $$;
  create trigger zz_project before insert or update on api_keys for each row execute function project_at_once();
  create trigger zz_project before insert or update on api_key_credentials for each row execute function project_at_once();
`)

let web: Process | undefined
afterAll(() => web?.kill())

async function start(): Promise<Process> {
  const url = new URL(urlAs('model_gateway_cabinet', database.url))
  url.port = String(gate.port)
  const process = await startProcess('cabinet/web/main.ts', {
    ...webSettings,
    DATABASE_URL: url.href,
    LOG_LEVEL: 'info',
  })
  await untilReady(process) // what it asks before that is no step
  return process
}

type Call = {
  readonly path: string
  readonly body: object
  readonly cookie?: string
  readonly proof?: string
}

/** One idempotency key for the same call again. */
async function send(to: Process, { path, body, cookie, proof }: Call, idempotencyKey: string) {
  const response = await fetch(`${to.baseUrl.replace(/\/v1$/, '/api/v1')}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
      ...(cookie === undefined ? {} : { cookie, origin: appUrl }),
      ...(proof === undefined ? {} : { [proofHeader]: proof }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** A call that registers, with a proof of work; others are sent without. */
async function proven(to: Process, call: Call): Promise<Call> {
  if (call.path !== '/auth/register') return call
  const { body } = await send(to, call, 'x')
  return { ...call, proof: await solve(body.challenge) }
}

async function untilRolledBack(): Promise<void> {
  await vi.waitFor(async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and usename is not null and xact_start is not null
          and application_name like 'model-gateway-cabinet%'`,
    )
    expect(rowCount).toBe(0)
  })
}

/** A call, and what it leaves. */
type Flow<Subject> = {
  /** A caller with access. */
  readonly prepare: () => Promise<Subject>
  readonly call: (subject: Subject) => Call | Promise<Call>
  /** How many rows of each kind there are of it. */
  readonly count: (subject: Subject) => Promise<readonly number[]>
  readonly nothing: readonly number[]
  readonly all: readonly number[]
  /** What the same call is answered once more, when it had done all of it or nothing. */
  readonly again: (subject: Subject, wasDone: boolean, answer: Awaited<ReturnType<typeof send>>) => unknown
}

async function numbersOf(sql: string, values: readonly unknown[]): Promise<readonly number[]> {
  const { rows } = await pool.query(sql, [...values])
  return Object.values(rows[0] ?? {}).map(Number)
}

const registering: Flow<string> = {
  prepare: async () => newEmail(),
  call: (email) => ({ path: '/auth/register', body: registration({ email }) }),
  count: (email) =>
    numbersOf(
      `with u as (select id from users where email = $1)
       select (select count(*) from u), (select count(*) from consents where user_id in (table u)) as consents,
              (select count(*) from memberships where user_id in (table u)) as memberships,
              (select count(*) from email_tokens where user_id in (table u)) as tokens,
              (select count(*) from email_outbox where recipient = $1) as letters,
              (select count(*) from audit_log where action = 'user.register' and subject_id in (select id::text from u)) as audit,
              (select count(*) from organizations o where not exists (select from memberships where organization_id = o.id)) as orphans`,
      [email],
    ),
  nothing: [0, 0, 0, 0, 0, 0, 0],
  all: [1, 2, 1, 1, 1, 1, 0],
  async again(email, wasDone, { status }) {
    expect(status).toBe(202)
    const [users, consents, ...rest] = await registering.count(email)
    // A repeated consent is stored twice. A second email waits for its pause.
    expect([users, Number(consents) >= 2, rest]).toEqual([1, true, registering.all.slice(2)])
    expect(wasDone || consents === 2).toBe(true)
  },
}

type Registered = { readonly email: string; readonly token: string }

const confirming: Flow<Registered> = {
  async prepare() {
    const email = newEmail()
    const to = await running()
    const call = { path: '/auth/register', body: registration({ email }) }
    const { status } = await send(to, await proven(to, call), 'x')
    expect(status).toBe(202)
    return { email, token: await tokenTo(pool, email) }
  },
  call: ({ token }) => ({ path: '/auth/verify-email', body: { token } }),
  count: ({ email }) =>
    numbersOf(
      `with u as (select id, email_confirmed_at from users where email = $1),
            o as (select organization_id as id from memberships where user_id in (select id from u))
       select (select count(*) from u where email_confirmed_at is not null) as confirmed,
              (select count(*) from bonuses where organization_id in (table o) and kind = 'trial') as bonuses,
              (select count(*) from balance_ledger where organization_id in (table o) and kind = 'trial') as ledger,
              (select balance from org_account where organization_id in (table o)) as balance,
              (select count(*) from email_tokens where user_id in (select id from u) and used_at is not null) as spent,
              (select count(*) from sessions where user_id in (select id from u)) as sessions`,
      [email],
    ),
  nothing: [0, 0, 0, 0, 0, 0],
  all: [1, 1, 1, 30_000_000_000, 1, 1],
  async again(subject, _, { status }) {
    expect(status).toBe(204)
    expect(await confirming.count(subject)).toEqual(confirming.all)
  },
}

type Owner = Awaited<ReturnType<typeof signedIn>>

const making: Flow<Owner> = {
  prepare: () => signedIn(pool),
  call: ({ cookie }) => ({ path: '/keys', body: { name: 'made' }, cookie }),
  count: ({ organizationId, userId }) =>
    numbersOf(
      `with k as (select id from api_keys where organization_id = $1)
       select (select count(*) from k), (select count(*) from api_key_credentials where key_id in (table k)) as secrets,
              (select count(*) from idempotency_keys where scope = $2 and status <> 0) as kept,
              (select count(*) from idempotency_keys where scope = $2 and status = 0) as unfinished,
              (select count(*) from audit_log where organization_id = $1 and action = 'key.create') as audit`,
      [organizationId, userId],
    ),
  nothing: [0, 0, 0, 0, 0],
  all: [1, 1, 1, 0, 1],
  async again(subject, wasDone, { status, body }) {
    expect([status, body.secret === null]).toEqual([201, wasDone])
    expect(await making.count(subject)).toEqual(making.all)
  },
}

function rotating(grace: '0' | '1h'): Flow<Owner & { readonly keyId: string }> {
  const flow: Flow<Owner & { readonly keyId: string }> = {
    async prepare() {
      const owner = await signedIn(pool)
      const { organizationId } = owner
      const draft = { organizationId, name: 'rotated', managedBy: 'cabinet' } as const
      const { keyId } = await inTestScope(pool, (client) => createKey(client, draft, pepper))
      return { ...owner, keyId }
    },
    call: ({ keyId, cookie }) => ({ path: `/keys/${keyId}/rotate`, body: { grace }, cookie }),
    count: ({ keyId, userId }) =>
      numbersOf(
        `select count(*) filter (where revoked_at is null and valid_until is null) as current,
                count(*) filter (where revoked_at is null and valid_until is not null) as in_grace,
                count(*) filter (where revoked_at is not null) as ended,
                (select count(*) from idempotency_keys where scope = $2) as kept,
                (select count(*) from audit_log where subject_id = $1::text and action = 'key.rotate') as audit
           from api_key_credentials where key_id = $1::uuid`,
        [keyId, userId],
      ),
    nothing: [1, 0, 0, 0, 0],
    all: grace === '0' ? [1, 0, 1, 1, 1] : [1, 1, 0, 1, 1],
    async again(subject, wasDone, { status, body }) {
      expect([status, body.secret === null]).toEqual([200, wasDone])
      expect(await flow.count(subject)).toEqual(flow.all)
    },
  }
  return flow
}

async function running(): Promise<Process> {
  web ??= await start()
  return web
}

/** Whether the process was killed before it could answer. */
async function isKilledAfter(statementCount: number, call: Call, key: string): Promise<boolean> {
  const process = await running()
  const asked = await proven(process, call)
  const closed = gate.closeAfter(statementCount).then(() => 'closed' as const)
  const answered = send(process, asked, key)
  const first = await Promise.race([closed, answered.catch(() => 'closed' as const)])
  if (first !== 'closed') {
    gate.open()
    return false
  }
  await process.kill()
  web = undefined
  await answered.catch(() => undefined)
  gate.open()
  await untilRolledBack()
  return true
}

/** The statements of an uninterrupted call, in order. */
async function statementsOf<Subject>(flow: Flow<Subject>): Promise<readonly string[]> {
  const subject = await flow.prepare()
  const [to, call] = [await running(), await flow.call(subject)]
  const asked = await proven(to, call)
  gate.count()
  await send(to, asked, randomUUID())
  return [...gate.taken]
}

async function killEverywhere<Subject>(flow: Flow<Subject>): Promise<readonly ('nothing' | 'all')[]> {
  const left: ('nothing' | 'all')[] = []
  const statements = await statementsOf(flow)
  expect(statements.length).toBeLessThan(statementCountMax)
  for (const [index, statement] of statements.entries()) {
    const subject = await flow.prepare()
    const [call, key] = [await flow.call(subject), randomUUID()]
    const isKilled = await isKilledAfter(index + 1, call, key)
    const counts = await flow.count(subject)
    const isDone = String(counts) === String(flow.all)
    if (!isDone) expect(counts, `killed after ${statement}`).toEqual(flow.nothing)
    if (!isKilled) return left
    left.push(isDone ? 'all' : 'nothing')
    const to = await running()
    await flow.again(subject, isDone, await send(to, await proven(to, call), key))
  }
  return left
}

test.each([
  ['a registration', () => killEverywhere(registering)],
  ['a confirmation', () => killEverywhere(confirming)],
  ['a new key', () => killEverywhere(making)],
  ['a rotation with grace', () => killEverywhere(rotating('1h'))],
  ['a rotation without grace', () => killEverywhere(rotating('0'))],
])(
  '%s is whole or has not been, wherever the web process is killed, and may be asked for again',
  {
    timeout: 180_000,
  },
  async (_, run) => {
    const left = await run()
    // Killed before anything was sent, and after all of it was committed.
    expect([left[0], left.at(-1)]).toEqual(['nothing', 'all'])
    expect((await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
  },
)
