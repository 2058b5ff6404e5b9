import { beforeAll, describe, expect, test } from 'vitest'
import { kubectl, kubectlOk } from './kubernetes.ts'
import { fullname, namespace, putRelease } from './release.ts'

beforeAll(() => putRelease())

/**
 * Runs a program within a process's container, with the environment of that process, and returns its output.
 */
async function within(component: string, program: string): Promise<string> {
  return (
    await kubectlOk([
      '-n',
      namespace,
      'exec',
      `deployment/${fullname}-${component}`,
      '--',
      'node',
      '--input-type=module',
      '-e',
      program,
    ])
  ).trim()
}

/** Asks Postgres as the process does; answers `done` or the error's code. */
function asksPostgres(component: string, statement: string): Promise<string> {
  return within(
    component,
    `import { Client } from 'pg'
     const client = new Client({ connectionString: process.env.DATABASE_URL })
     try {
       await client.connect()
       await client.query(${JSON.stringify(statement)})
       console.log('done')
     } catch (error) { console.log(error.code ?? error.message) }
     await client.end().catch(() => undefined)`,
  )
}

/** Asks Redis as the process does; answers `done` or the first word of the error. */
function asksRedis(component: string, ...command: readonly string[]): Promise<string> {
  return within(
    component,
    `import { Redis } from 'ioredis'
     const redis = new Redis(process.env.REDIS_URL, { lazyConnect: true })
     redis.on('error', () => undefined)
     await redis.connect().catch(() => undefined)
     console.log(await redis.call(...${JSON.stringify(command)}).then(() => 'done', (error) => error.message.split(' ')[0]))
     redis.disconnect()`,
  )
}

/** Asks the API server with what is mounted; answers the HTTP status. */
function asksKubernetes(component: string, path: string, method = 'GET'): Promise<string> {
  return within(
    component,
    `import { request } from 'node:https'
     import { readFileSync } from 'node:fs'
     const token = (() => { try { return readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8') } catch { return undefined } })()
     const headers = token === undefined ? {} : { authorization: 'Bearer ' + token }
     const asked = request('https://kubernetes.default.svc' + ${JSON.stringify(path)}, { method: ${JSON.stringify(method)}, headers, rejectUnauthorized: false })
     asked.on('response', (answer) => { console.log(answer.statusCode); answer.resume() }).on('error', (error) => console.log(error.code)).end()`,
  )
}

const permissionDenied = '42501'
const ok = 'done'

describe('Postgres', () => {
  test('the gateway has no address of it and no user', async () => {
    expect(
      await within(
        'gateway',
        `console.log(Object.keys(process.env).filter((name) => name.startsWith('DATABASE')))`,
      ),
    ).toBe('[]')
    expect(
      await within(
        'gateway',
        `import { Client } from 'pg'
         const connection = { host: '${fullname}-trial-postgres', database: 'model_gateway', user: 'model_gateway' }
         const client = new Client({ ...connection, password: process.env.REDIS_PASSWORD })
         console.log(await client.connect().then(() => 'done', (error) => error.code))`,
      ),
    ).toBe('28P01')
  })

  test.each([
    ['receiver', 'select * from payments', 'insert into webhook_inbox default values'],
    ['receiver', 'select * from webhook_inbox', undefined],
    ['cabinet', 'update balance_ledger set amount = 0', 'select count(*) from balance_ledger'],
    ['cabinet', 'delete from balance_ledger', undefined],
    ['cabinet', 'select * from administrators', undefined],
    ['administration', 'select password_hash from users', 'select count(*) from administrators'],
    ['worker', 'update api_keys set rpm = null', 'select count(*) from api_keys'],
    ['worker', 'delete from api_keys', undefined],
    ['operator', 'update org_account set balance = 0', 'select count(*) from api_keys'],
    ['operator', 'select * from sessions', undefined],
  ])('the %s may not: %s', async (component, forbidden, allowed) => {
    expect(await asksPostgres(component, forbidden)).toBe(permissionDenied)
    // So that a rejection of everything would be seen.
    if (allowed !== undefined) expect(await asksPostgres(component, allowed)).not.toBe(permissionDenied)
  })
})

describe('Redis', () => {
  test.each([
    ['gateway', ['FLUSHALL']],
    ['gateway', ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']],
    ['gateway', ['ACL', 'LIST']],
    ['gateway', ['FUNCTION', 'FLUSH']],
    ['worker', ['FLUSHALL']],
    ['worker', ['ACL', 'SETUSER', 'worker', '+@all']],
    ['cabinet', ['KEYS', '*']],
    ['cabinet', ['SET', 'a', 'b']],
  ])('the %s may not: %j', async (component, command) => {
    expect(await asksRedis(component, ...command)).toBe('NOPERM')
    expect(await asksRedis(component, 'PING')).toBe(ok)
  })
})

describe('Kubernetes', () => {
  test.each(['gateway', 'cabinet', 'administration', 'receiver', 'worker'])(
    'the %s is nobody there',
    async (component) => {
      expect(await asksKubernetes(component, `/api/v1/namespaces/${namespace}/secrets`)).toMatch(/^40[13]$/)
      expect(
        await within(
          component,
          `import { existsSync } from 'node:fs'; console.log(existsSync('/var/run/secrets/kubernetes.io'))`,
        ),
      ).toBe('false')
    },
  )

  test('the operator lists no Secrets, deletes no pods, and reads ApiKeys', async () => {
    expect(await asksKubernetes('operator', '/api/v1/secrets')).toBe('403')
    expect(await asksKubernetes('operator', `/api/v1/namespaces/${namespace}/secrets`)).toBe('403')
    expect(await asksKubernetes('operator', `/api/v1/namespaces/${namespace}/pods/x`, 'DELETE')).toBe('403')
    expect(await asksKubernetes('operator', '/apis/modelgateway.dev/v1alpha1/apikeys')).toBe('200')
  })
})

describe('The container', () => {
  test.each(['gateway', 'cabinet', 'administration', 'receiver', 'worker', 'operator'])(
    'the %s writes nothing but /tmp, is nobody, and has no npm',
    async (component) => {
      const said = await within(
        component,
        `import { writeFileSync } from 'node:fs'
       const write = (path) => { try { writeFileSync(path, ''); return 'written' } catch (error) { return error.code } }
       console.log(JSON.stringify([write('/app/x'), write('/tmp/x'), process.getuid(), process.version.split('.')[0]]))`,
      )
      expect(JSON.parse(said)).toEqual(['EROFS', 'written', 65532, 'v24'])
      const npm = await kubectl([
        '-n',
        namespace,
        'exec',
        `deployment/${fullname}-${component}`,
        '--',
        'npm',
        '--version',
      ])
      expect(npm.code).not.toBe(0)
    },
  )
})
