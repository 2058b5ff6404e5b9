import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { ownClusterOfThisFile } from '../support/cluster.ts'
import { createOlderDatabase } from '../support/older-database.ts'
import { createDatabase } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { runEntry } from '../support/run-entry.ts'

const cluster = await ownClusterOfThisFile({ deploy: 'bare' })
const redis = await redisOfThisFile()
const folder = await mkdtemp(join(tmpdir(), 'mg-jobs-'))
afterAll(() => rm(folder, { recursive: true }))

const passwordOf = (name: string) => `${name}-${randomBytes(8).toString('hex')}`
const redisPasswords = {
  REDIS_PASSWORD_GATEWAY: passwordOf('gateway'),
  REDIS_PASSWORD_WORKER: passwordOf('worker'),
  REDIS_PASSWORD_CABINET: passwordOf('cabinet'),
}

/** What a Secret holds, as it is written there. */
async function readSecret(namespace: string, name: string): Promise<Record<string, string>> {
  const text = await cluster.kubectlOk(['-n', namespace, 'get', 'secret', name, '-o', 'json'])
  return JSON.parse(text).data
}

test('secrets are created once: another run changes none, and adds what is absent', async () => {
  const namespace = await cluster.createNamespace()
  const user = await cluster.addUser(`maker-${namespace}`)
  // The permissions of the chart's Role, and no others.
  const role = ['-n', namespace, 'create', 'role', 'maker', '--resource=secrets']
  await cluster.kubectlOk([...role, '--verb=get,update', '--resource-name=mg-secrets'])
  await cluster.kubectlOk([
    '-n',
    namespace,
    'create',
    'role',
    'creator',
    '--resource=secrets',
    '--verb=create',
  ])
  for (const name of ['maker', 'creator'])
    await cluster.kubectlOk([
      '-n',
      namespace,
      'create',
      'rolebinding',
      name,
      `--role=${name}`,
      `--user=maker-${namespace}`,
    ])
  const env = { KUBECONFIG: user.kubeconfigPath, SECRET_NAMESPACE: namespace, SECRET_NAME: 'mg-secrets' }
  const make = () => runEntry('release/make-secrets/main.ts', env)

  const first = await make()
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('Keep a backup') })
  const made = await readSecret(namespace, 'mg-secrets')
  expect(Object.keys(made)).toContain('KEY_PEPPER')
  expect(new Set(Object.values(made)).size).toBe(Object.keys(made).length)
  for (const value of Object.values(made)) {
    const text = Buffer.from(value, 'base64').toString()
    expect(text.length).toBeGreaterThanOrEqual(43)
    expect(first.stdout + first.stderr).not.toContain(text)
  }

  expect(await make()).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing changed') })
  expect(await readSecret(namespace, 'mg-secrets')).toEqual(made)

  const remove = '[{"op": "remove", "path": "/data/WEBHOOK_SECRET"}]'
  await cluster.kubectlOk(['-n', namespace, 'patch', 'secret', 'mg-secrets', '--type=json', '-p', remove])
  expect(await make()).toMatchObject({ code: 0, stdout: expect.stringContaining(': WEBHOOK_SECRET.') })
  const { WEBHOOK_SECRET: added, ...others } = await readSecret(namespace, 'mg-secrets')
  const { WEBHOOK_SECRET: removed, ...before } = made
  expect(others).toEqual(before)
  expect(added).not.toBe(removed)
})

test('five that make secrets at once agree on one value each', async () => {
  const namespace = await cluster.createNamespace()
  const env = { KUBECONFIG: cluster.kubeconfigPath, SECRET_NAMESPACE: namespace, SECRET_NAME: 'mg-secrets' }
  const results = await Promise.all(
    Array.from({ length: 5 }, () => runEntry('release/make-secrets/main.ts', env)),
  )
  // Kubernetes starts a Job that failed again; here the others have made it.
  expect(results.filter(({ code }) => code === 0).length).toBeGreaterThan(0)
  const made = await readSecret(namespace, 'mg-secrets')
  expect(await runEntry('release/make-secrets/main.ts', env)).toMatchObject({ code: 0 })
  expect(await readSecret(namespace, 'mg-secrets')).toEqual(made)
})

test('an empty database is migrated, and each process gets a user who may do what its role may', async () => {
  await using database = await createDatabase({ template: 'template0' })
  const prefix = `mg_${randomBytes(4).toString('hex')}`
  const passwords = {
    DATABASE_PASSWORD_WORKER: passwordOf('worker'),
    DATABASE_PASSWORD_CABINET: passwordOf('cabinet'),
    DATABASE_PASSWORD_ADMINISTRATION: passwordOf('administration'),
    DATABASE_PASSWORD_WEBHOOK: passwordOf('webhook'),
    DATABASE_PASSWORD_OPERATOR: passwordOf('operator'),
  }
  const prepare = (changed = {}) =>
    runEntry('release/prepare-database/main.ts', {
      ...passwords,
      ...changed,
      DATABASE_URL: database.url,
      DATABASE_USER_PREFIX: prefix,
    })
  const first = await prepare()
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('Applied 0001-') })
  for (const password of Object.values(passwords)) expect(first.stdout + first.stderr).not.toContain(password)
  expect(await prepare()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The schema is up to date.'),
  })

  const urlOf = (process: string, password: string) => {
    const url = new URL(database.url)
    url.username = `${prefix}_${process}`
    url.password = password
    return url.href
  }
  for (const [name, password] of Object.entries(passwords)) {
    const process = name.replace('DATABASE_PASSWORD_', '').toLowerCase()
    const asProcess = await connect(urlOf(process, password))
    const { rows } = await asProcess.query(
      `select pg_has_role(current_user, $1, 'usage') as has, rolsuper, rolcreaterole
      from pg_roles where rolname = current_user`,
      [`model_gateway_${process}`],
    )
    expect(rows).toEqual([{ has: true, rolsuper: false, rolcreaterole: false }])
    await expect(asProcess.query('update balance_ledger set amount = 0')).rejects.toThrow('permission denied')
    await asProcess.end()
  }

  // After a roll-back: the schema stays, and the users get what they need.
  await database.pool.query(
    "insert into schema_migrations (name, sha256) values ('9999-from-the-future.sql', 'x')",
  )
  expect(await prepare({ DATABASE_PASSWORD_WORKER: 'another one' })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^The schema is newer .*\nUser .*_worker has the permissions/),
  })
  await (await connect(urlOf('worker', 'another one'))).end()
  for (const process of ['worker', 'cabinet', 'administration', 'webhook', 'operator']) {
    await database.pool.query(`drop owned by ${prefix}_${process}`)
    await database.pool.query(`drop role ${prefix}_${process}`)
  }
})

test('users that would be the roles of the migrations are not made', async () => {
  const { code, stderr } = await runEntry('release/prepare-database/main.ts', {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    DATABASE_USER_PREFIX: 'model_gateway',
    DATABASE_PASSWORD_WORKER: passwordOf('worker'),
  })
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('DATABASE_USER_PREFIX: must not be model_gateway'),
  ])
})

test('a database whose Postgres is not there yet is waited for', async () => {
  const { stdout } = await runEntry(
    'release/prepare-database/main.ts',
    { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
    { timeoutMs: 10_000 },
  )
  expect(stdout).toContain('Postgres is not available yet. Retrying in 2 s.')
})

test('a trial is filled once every migration is there, and again changes nothing', async () => {
  await using database = await createOlderDatabase(5)
  const demo = () =>
    runEntry('release/demo/main.ts', {
      DATABASE_URL: database.url,
      DEMO_ORGANIZATION: 'demo',
      DEMO_BALANCE_RUB: '1000',
      DEMO_PROVIDER_URL: 'http://provider.invalid/v1',
    })
  const filling = demo()
  expect(await runEntry('release/prepare-database/main.ts', { DATABASE_URL: database.url })).toMatchObject({
    code: 0,
  })
  expect(await filling).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Created organization demo and the demo models.'),
  })
  const facts = `select (select balance from org_account) as balance, (select count(*) from model_routes) as routes`
  const { rows } = await database.pool.query(facts)
  expect(rows).toEqual([{ balance: 1_000_000_000_000n, routes: 4n }])
  expect(await demo()).toMatchObject({ code: 0 })
  expect((await database.pool.query(facts)).rows).toEqual(rows)
})

test('Redis gets a user for each process, who may do what its rules say', async () => {
  expect(
    await runEntry('release/prepare-redis/main.ts', { ...redisPasswords, REDIS_URL: redis.url }),
  ).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /model_gateway_gateway is ready[\s\S]*Redis keeps these users only until it restarts/,
    ),
  })
  const gateway = new Redis(redis.port, {
    username: 'model_gateway_gateway',
    password: redisPasswords.REDIS_PASSWORD_GATEWAY,
  })
  await expect(gateway.get('mg:routes:rev')).resolves.toBeNull()
  await expect(gateway.set('mg:routes:rev', '1')).rejects.toThrow('NOPERM')
  await expect(gateway.call('ACL', 'LIST')).rejects.toThrow('NOPERM')
  gateway.disconnect()
})

test('an ACL file has those users and the owner, and no password in words', async () => {
  const file = join(folder, 'users.acl')
  const env = { ...redisPasswords, REDIS_ACL_FILE: file, REDIS_PASSWORD: 'of the owner' }
  expect(await runEntry('release/prepare-redis/main.ts', env)).toMatchObject({ code: 0 })
  const text = readFileSync(file, 'utf8')
  expect(text.match(/^user \S+/gm)).toEqual([
    'user default',
    'user model_gateway_gateway',
    'user model_gateway_worker',
    'user model_gateway_cabinet',
  ])
  for (const password of ['of the owner', ...Object.values(redisPasswords)])
    expect(text).not.toContain(password)
})

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}
