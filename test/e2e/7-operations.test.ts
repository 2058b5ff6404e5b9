import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import OpenAI from 'openai'
import { Client } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { shellBlocksOf, yamlBlocksOf } from '../support/readme-commands.ts'
import { readerOfThisFile } from './followed-text.ts'
import { kubectlOk, withPortForward } from './kubernetes.ts'
import { leftInCluster } from './left-in-cluster.ts'
import {
  asSuperuser,
  clusterValues,
  hostOf,
  makeDatabase,
  putOutside,
  putStores,
  runInCluster,
  storesNamespace,
} from './own-stores.ts'
import { createKey, deployments, eventually, removeEverything, secretValue } from './release.ts'
import { figure, since } from './results.ts'
import { ingress, tags } from './settings.ts'

/** As the text calls them. */
const release = 'model-gateway'
const namespace = 'model-gateway'
const text = 'docs/operate/operations.md'
/** The key of the text may be used ten times a second. */
const betweenRequestsMs = 150

const reader = await readerOfThisFile()
const passwords = { owner: newPassword(), redis: newPassword(), shop: `test_${newPassword()}` }
let overlay: Readonly<Record<string, unknown>>

/** The commands of a section, in order; each test takes those that it is about. */
const commandsOf = (section: string) => shellBlocksOf(section, text)

/** The stores as pods reach them: what the text calls so while it stores them in Secrets. */
const fromPods = () => ({
  DATABASE_URL: `postgres://operations:${passwords.owner}@${hostOf('postgres')}/model_gateway`,
  REDIS_URL: `redis://default:${passwords.redis}@${hostOf('redis')}:6379`,
  SMTP_URL: `smtp://${hostOf('outside')}:2525`,
  SHOP_KEY: passwords.shop,
  PROVIDER_KEY: newPassword(),
})

/** Follows commands with the stores as this machine reaches them. */
function followHere(commands: readonly string[]): Promise<string> {
  const target = { namespace: storesNamespace, service: 'postgres', port: 5432 }
  return withPortForward(target, (postgres) =>
    withPortForward({ ...target, service: 'redis', port: 6379 }, (redis) =>
      reader.follow(commands, {
        DATABASE_URL: `postgres://operations:${passwords.owner}@127.0.0.1:${postgres}/model_gateway`,
        REDIS_URL: `redis://default:${passwords.redis}@127.0.0.1:${redis}`,
      }),
    ),
  )
}

beforeAll(async () => {
  await removeAll()
  await putStores(passwords)
  await makeDatabase(passwords.owner)
  overlay = ownValues()
  const [values = ''] = yamlBlocksOf('Install', text)
  reader.writeFile('values.yaml', stringify(merged(parse(values), overlay)))
  const [models = ''] = yamlBlocksOf('First key', text)
  reader.writeFile('models.yaml', reachable(models))
})

test('from Secrets to the answer of a model', async () => {
  const startMs = performance.now()
  const [places = '', stores = '', install = '', copy = '', notifications = '', people = ''] =
    commandsOf('Install')
  await reader.follow([places, stores, install, copy], fromPods())
  figure('helm install with stores of its own', since(startMs))
  expect(await followHere([notifications])).toContain(await secretOf('WEBHOOK_SECRET'))
  expect(await followHere([people])).toContain('Created organization acme')
  const [provider = '', key = '', call = ''] = commandsOf('First key')
  expect(await reader.follow([provider, key, call], fromPods())).toContain('"content":"Hello"')
  figure('to the first answer', since(startMs))
})

test('an upgrade and a rollback are answered as before', async () => {
  const [upgrade = '', rollback = ''] = commandsOf('Upgrade and roll back')
  writeValues({ image: { ...clusterValues.image, tag: tags.next } })
  await timed('helm upgrade', () => answeredDuring(() => reader.follow([upgrade])))
  expect(await imageTags()).toEqual([tags.next])
  await answered()
  await timed('helm rollback', () => answeredDuring(() => reader.follow([rollback])))
  expect(await imageTags()).toEqual([tags.first])
  await answered()
  writeValues({})
})

test('a dump and the copy of the Secret bring old keys and a sound ledger back to an empty server', async () => {
  const [dump = '', stop = '', restore = '', secret = '', start = ''] = commandsOf('Back up and restore')
  await answered()
  await followHere([dump])
  await answered()
  const late = await createKey({ namespace: 'team-a', organization: 'acme' }, 'late')
  const before = await secretOf('KEY_PEPPER')
  await reader.follow([stop])
  await kubectlOk(['-n', storesNamespace, 'delete', 'pod', '-l', 'app=postgres', '--wait'])
  await kubectlOk(['-n', storesNamespace, 'rollout', 'status', 'deployment/postgres', '--timeout=120s'])
  await makeDatabase(passwords.owner)
  await kubectlOk(['-n', namespace, 'delete', 'secret', 'model-gateway-secrets'])
  await followHere([restore])
  await reader.follow([secret])
  expect(await secretOf('KEY_PEPPER')).toBe(before)
  const said = await timed('helm upgrade after a restore', () => followHere([start]))
  expect(said).toMatch(/: ok\n/)
  await answered()
  await answered()
  await eventually(async () => expect(await ask(late.key)).toBe('Hello'))
  await kubectlOk(['-n', 'team-a', 'delete', 'apikey', 'late'])
  const [, check = ''] = /^(npm run invariants)$/m.exec(start) ?? []
  await eventually(async () => expect(await followHere([check])).not.toContain('breach'))
})

test('an empty Redis is filled again, and old keys open', async () => {
  await followHere(['redis-cli -u "$REDIS_URL" flushall'])
  const startMs = performance.now()
  await eventually(answered)
  figure('served again after FLUSHALL', since(startMs))
})

describe('Each rotation keeps old keys and credentials open', () => {
  const [functions = '', addAndMove = '', wait = '', drop = '', ...others] = commandsOf('Rotate secrets')
  const [addWebhook = '', dropWebhook = '', changePasswords = '', ownSecrets = ''] = others

  test('of the keys that encrypt and sign', async () => {
    const sealing = ['CABINET_SEALING_KEY', 'ADMINISTRATION_SEALING_KEY'] as const
    const names = ['CREDENTIALS_KEY', 'ROUTES_SIGNING_KEY', ...sealing] as const
    const before = await Promise.all(names.map(secretOf))
    await timed('new keys that seal and sign', () =>
      answeredDuring(() => followHere([functions, addAndMove, wait, drop])),
    )
    const after = await Promise.all(names.map(secretOf))
    const [credentials = '', routes = '', ...sealed] = after
    expect([credentials, routes].filter((key) => key.includes(',') || before.includes(key))).toEqual([])
    expect(sealed.map((keys) => keys.split(',')[1])).toEqual(before.slice(2))
    expect(await environmentOf('gateway', 'CREDENTIALS_KEY')).toEqual([credentials])
    await answered()
  })

  test('of notifications: the new secret is accepted, the old one at the end refused', async () => {
    const old = await secretOf('WEBHOOK_SECRET')
    await followHere([functions, addWebhook])
    const [, next = ''] = (await secretOf('WEBHOOK_SECRET')).split(',')
    expect([await notify(old), await notify(next)]).toEqual([200, 200])
    await followHere([functions, dropWebhook])
    expect(await secretOf('WEBHOOK_SECRET')).toBe(next)
    await eventually(async () => expect([await notify(old), await notify(next)]).toEqual([401, 200]))
  })

  test('of passwords: every process runs with the new one, and the old one is refused', async () => {
    const old = { ...(await passwordsOfProcesses()) }
    await timed('new passwords', () => answeredDuring(() => followHere([functions, changePasswords])))
    const now = await passwordsOfProcesses()
    for (const [name, value] of Object.entries(old)) expect(now[name], name).not.toBe(value)
    for (const [component, variable, name] of passwordVariables)
      expect(await environmentOf(component, variable), name).toEqual([now[name]])
    expect(await signIns(old)).toEqual(new Set(['refused']))
    expect(await signIns(now)).toEqual(new Set(['signed in']))
    await answered()
  })

  test('of the stores, the shop and the mail server: those who read them run with the new ones', async () => {
    passwords.owner = newPassword()
    passwords.redis = newPassword()
    passwords.shop = `test_${newPassword()}`
    await asSuperuser(`alter role operations password '${passwords.owner}'`)
    await kubectlOk([
      '-n',
      storesNamespace,
      'exec',
      'deploy/redis',
      '--',
      'sh',
      '-c',
      `redis-cli -u '${formerRedisUrl()}' acl setuser default resetpass '>${passwords.redis}'`,
    ])
    await putOutside(passwords.shop)
    const smtp = `smtp://us:${newPassword()}@${hostOf('outside')}:2525`
    await reader.follow([functions, ownSecrets], { ...fromPods(), SMTP_URL: smtp })
    for (const component of ['cabinet', 'administration', 'worker'] as const)
      expect(await environmentOf(component, 'YOOKASSA_SECRET_KEY')).toEqual([passwords.shop])
    expect(await environmentOf('worker', 'SMTP_URL')).toEqual([smtp])
    await eventually(async () => expect(await shopComparisons()).toBeGreaterThan(0))
    // Whatever needs the owner and the admin: the Jobs of an upgrade.
    await reader.follow([changePasswords.slice(changePasswords.indexOf('helm upgrade'))])
    await answered()
  })

  /** The admin's URL in a pod of Redis, before its password changes. */
  let former = ''
  function formerRedisUrl(): string {
    return former
  }
  beforeAll(() => {
    former = `redis://default:${passwords.redis}@127.0.0.1:6379`
  })
})

test('an uninstallation leaves what the text lists, and the last commands remove it', async () => {
  const [uninstall = '', removal = ''] = commandsOf('Uninstall')
  await timed('helm uninstall', () => reader.follow([uninstall]))
  await kubectlOk(['-n', namespace, 'wait', '--for=delete', 'pods', '--all', '--timeout=170s'])
  expect(await leftInCluster({ release, namespace }, /^namespaces$/)).toEqual([
    'customresourcedefinition.apiextensions.k8s.io/apikeys.modelgateway.dev',
    'customresourcedefinition.apiextensions.k8s.io/modelproviders.modelgateway.dev',
    'customresourcedefinition.apiextensions.k8s.io/modelroutes.modelgateway.dev',
    'modelprovider.modelgateway.dev/openai',
    'modelroute.modelgateway.dev/gpt-5-mini',
    'secret/model-gateway-secrets',
    'secret/openai',
    'secret/postgres-owner',
    'secret/redis-admin',
    'secret/smtp',
    'secret/yookassa',
  ])
  expect(await kubectlOk(['-n', 'team-a', 'get', 'apikeys,secrets', '-o', 'name'])).toBe(
    'apikey.modelgateway.dev/ci\nsecret/ci-apikey\n',
  )
  await followHere([removal])
  expect(await leftInCluster({ release, namespace }, /^namespaces$/)).toEqual([])
  expect(await asSuperuser(`select count(*) from pg_roles where rolname like 'model_gateway%'`)).toBe('0\n')
  const asked = ['redis-cli -u "$REDIS_URL" acl users', 'redis-cli -u "$REDIS_URL" dbsize']
  const said = (await followHere(asked)).split('\n').filter((line) => !line.startsWith('Warning:'))
  expect(said).toEqual(['default', '0', ''])
})

test('the demo installation of the README leads to a response, and is removed', async () => {
  const demo = 'docs/operate/demo.md'
  const [install = ''] = shellBlocksOf('Deploy with Helm')
  expect(readFileSync(join(import.meta.dirname, '../..', demo), 'utf8')).toContain(install)
  const [key = '', call = ''] = shellBlocksOf('First key and first request', demo)
  const rest = shellBlocksOf('Remove it', demo)
  reader.writeFile('demo.yaml', stringify({ ...overlay, ...demoValues() }))
  const here = install.replace('--set demo.enabled=true', '--set demo.enabled=true --values demo.yaml')
  expect(here).not.toBe(install)
  const startMs = performance.now()
  expect(await reader.follow([here, key, call])).toContain('"content":"Hello"')
  figure('a demo, to the first answer', since(startMs))
  await reader.follow(rest)
  expect(await leftInCluster({ release, namespace }, /^namespaces$/)).toEqual([])
  await kubectlOk(['delete', 'namespace', storesNamespace, '--wait'])
})

/** What differs from the text: hosts, the image, what these processors can do. */
function ownValues(): Readonly<Record<string, unknown>> {
  const { demo: _demo, baseUrl: _baseUrl, appUrl: _appUrl, ...cluster } = Object(clusterValues)
  return {
    ...cluster,
    baseUrl: `http://api.localhost:${ingress.port}/v1`,
    appUrl: `http://cabinet.localhost:${ingress.port}`,
    database: { host: hostOf('postgres'), parameters: '' },
    redis: { host: hostOf('redis'), tls: false },
    payments: { env: { YOOKASSA_URL: `http://${hostOf('outside')}:3002/v3` } },
    ingress: Object.fromEntries(
      ['gateway', 'cabinet', 'webhook'].map((name) => [name, { className: 'traefik', tlsSecret: '' }]),
    ),
    gateway: {
      upstreamAllowedCidrs: ['10.0.0.0/8'],
      resources: { requests: { cpu: '300m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    },
  }
}

function demoValues(): Readonly<Record<string, unknown>> {
  return { demo: clusterValues.demo, ingress: {}, database: {}, redis: {}, payments: {} }
}

function writeValues(further: Readonly<Record<string, unknown>>): void {
  const [values = ''] = yamlBlocksOf('Install', text)
  reader.writeFile('values.yaml', stringify(merged(parse(values), merged(overlay, further))))
}

/** The second on top of the first, deep down. */
function merged(one: unknown, other: unknown): unknown {
  if (!isObject(one) || !isObject(other)) return other
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...names].map((name) => [name, name in other ? merged(one[name], other[name]) : one[name]]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The models of the text at a provider that this cluster reaches. */
function reachable(models: string): string {
  return parseAllDocuments(models)
    .map((document) => {
      const object = document.toJS()
      if (object.kind === 'ModelProvider') {
        object.spec.baseURL = `http://${hostOf('outside')}:8090/v1`
        object.spec.network = { http: true, privateAddresses: true }
      } else object.spec.backends[0].model = 'echo'
      return stringify(object)
    })
    .join('---\n')
}

/** Does some work while the first key is used, some times a second; every request must be answered. */
async function answeredDuring<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const key = await secretValue('team-a', 'ci-apikey', 'OPENAI_API_KEY')
  const working = work()
  let isDone = false
  const settled = working.catch(() => undefined).then(() => (isDone = true))
  const said: Record<string, number> = {}
  while (!isDone) {
    const answer = await ask(key)
    said[answer] = (said[answer] ?? 0) + 1
    await Promise.race([settled, pause(betweenRequestsMs)])
  }
  const answer = await working
  expect(Object.keys(said)).toEqual(['Hello'])
  return answer
}

/** One request as customers send it: OpenAI's SDK retries retryable errors twice. */
async function ask(key: string): Promise<string> {
  const client = new OpenAI({ apiKey: key, baseURL: `http://api.localhost:${ingress.port}/v1` })
  try {
    const model = 'openai/gpt-5-mini'
    const { choices } = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    return choices[0]?.message.content ?? 'nothing'
  } catch (error) {
    return String(error)
  }
}

/** The call of the text, with the key that it made first, is answered. */
async function answered(): Promise<void> {
  const [, , call = ''] = commandsOf('First key')
  expect(await reader.follow([call])).toContain('"content":"Hello"')
}

async function imageTags(): Promise<readonly string[]> {
  const names = deployments.map((component) => `deployment/${release}-${component}`)
  const images = await kubectlOk([
    '-n',
    namespace,
    'get',
    ...names,
    '-o',
    'jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}{"\\n"}{end}',
  ])
  return [...new Set(images.trim().split('\n'))].map((image) => image.replace(/^.*:/, ''))
}

function secretOf(name: string): Promise<string> {
  return secretValue(namespace, 'model-gateway-secrets', name)
}

const passwordVariables = [
  ['worker', 'DATABASE_PASSWORD', 'DATABASE_PASSWORD_WORKER'],
  ['cabinet', 'DATABASE_PASSWORD', 'DATABASE_PASSWORD_CABINET'],
  ['administration', 'DATABASE_PASSWORD', 'DATABASE_PASSWORD_ADMINISTRATION'],
  ['receiver', 'DATABASE_PASSWORD', 'DATABASE_PASSWORD_WEBHOOK'],
  ['operator', 'DATABASE_PASSWORD', 'DATABASE_PASSWORD_OPERATOR'],
  ['gateway', 'REDIS_PASSWORD', 'REDIS_PASSWORD_GATEWAY'],
  ['worker', 'REDIS_PASSWORD', 'REDIS_PASSWORD_WORKER'],
  ['cabinet', 'REDIS_PASSWORD', 'REDIS_PASSWORD_CABINET'],
] as const

async function passwordsOfProcesses(): Promise<Readonly<Record<string, string>>> {
  const entries = passwordVariables.map(async ([, , name]) => [name, await secretOf(name)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

/** The different values that a variable has in the ready pods of a process. */
async function environmentOf(component: string, variable: string): Promise<readonly string[]> {
  const own = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${component}`
  const list: { items: { metadata: { name: string; deletionTimestamp?: string } }[] } = JSON.parse(
    await kubectlOk(['-n', namespace, 'get', 'pods', '-o', 'json', '-l', own]),
  )
  const pods = list.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  expect(pods.length).toBeGreaterThan(0)
  const values = pods.map(({ metadata }) =>
    kubectlOk([
      '-n',
      namespace,
      'exec',
      metadata.name,
      '--',
      'node',
      '-e',
      `process.stdout.write(process.env.${variable} ?? '')`,
    ]),
  )
  return [...new Set(await Promise.all(values))]
}

/** What Postgres and Redis say to each user with such a password. */
async function signIns(known: Readonly<Record<string, string>>): Promise<ReadonlySet<string>> {
  const said = new Set<string>()
  for (const [name, password] of Object.entries(known)) {
    const [, store = '', process = ''] = /^(\w+)_PASSWORD_(\w+)$/.exec(name) ?? []
    said.add(await (store === 'REDIS' ? signInToRedis : signInToPostgres)(process.toLowerCase(), password))
  }
  return said
}

/** A rejection breaks kubectl's port-forward, so each has its own. */
function signInToPostgres(process: string, password: string): Promise<string> {
  return withPortForward({ namespace: storesNamespace, service: 'postgres', port: 5432 }, async (port) => {
    const user = `model_gateway_model_gateway_${process}`
    const client = new Client({ host: '127.0.0.1', port, user, password, database: 'model_gateway' })
    client.on('error', () => undefined) // the caller that connects gets the error
    const said = await client.connect().then(
      () => 'signed in',
      ({ code }) => (code === '28P01' ? 'refused' : String(code)),
    )
    await client.end()
    return said
  })
}

function signInToRedis(process: string, password: string): Promise<string> {
  return withPortForward({ namespace: storesNamespace, service: 'redis', port: 6379 }, async (port) => {
    const redis = new Redis(`redis://default:${passwords.redis}@127.0.0.1:${port}`)
    const said = await redis.call('AUTH', `model_gateway_${process}`, password).then(
      () => 'signed in',
      ({ message }) => (String(message).startsWith('WRONGPASS') ? 'refused' : String(message)),
    )
    redis.disconnect()
    return said
  })
}

/** What the receiver answers to a notification with this secret, called by a pod. */
async function notify(secret: string): Promise<number> {
  const url = `http://${release}-receiver.${namespace}.svc/webhooks/yookassa?secret=${encodeURIComponent(secret)}`
  const body = {
    type: 'notification',
    event: 'payment.succeeded',
    object: { id: randomBytes(8).toString('hex') },
  }
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  return Number(
    await runInCluster(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(options)}).then((answer) => process.stdout.write(String(answer.status)))`,
    ),
  )
}

/** How often the workers that run have compared their rows with the shop's. */
async function shopComparisons(): Promise<number> {
  const metrics = await kubectlOk([
    '-n',
    namespace,
    'exec',
    `deployment/${release}-worker`,
    '--',
    'node',
    '-e',
    "fetch('http://127.0.0.1:9091/metrics').then(async (answer) => process.stdout.write(await answer.text()))",
  ])
  const success = /^model_gateway_job_last_success_timestamp_seconds\{job="payment_comparison"\} (\S+)$/m
  return Number(success.exec(metrics)?.[1] ?? 0)
}

/** Whatever a run before has left. */
async function removeAll(): Promise<void> {
  await reader.follow([`helm uninstall ${release} --namespace ${namespace} --wait --ignore-not-found`])
  await removeEverything()
  await kubectlOk([
    'delete',
    'namespaces',
    namespace,
    storesNamespace,
    'team-a',
    'first-key',
    '--ignore-not-found',
    '--wait',
  ])
}

async function timed<Answer>(what: string, work: () => Promise<Answer>): Promise<Answer> {
  const startMs = performance.now()
  const answer = await work()
  figure(what, since(startMs))
  return answer
}

function newPassword(): string {
  return randomBytes(16).toString('hex')
}
