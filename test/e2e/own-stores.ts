import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { kubectlOk } from './kubernetes.ts'
import { apply, eventually } from './release.ts'
import { valuesFiles } from './settings.ts'

/** Where the stores of an operator stand who brings them, and whom the release talks to in place of the world. */
export const storesNamespace = 'own-stores'
export const hostOf = (name: 'postgres' | 'redis' | 'outside') => `${name}.${storesNamespace}.svc`

/** What must be known of the cluster; the rest of a values file is what an operator writes. */
export const clusterValues: {
  readonly image: { readonly repository: string; readonly tag: string }
  readonly demo: Readonly<Record<'postgres' | 'redis', { readonly image: string }>>
} = parse(readFileSync(valuesFiles.split(',')[0] ?? '', 'utf8'))

const superuserPassword = randomBytes(16).toString('hex')
const image = `${clusterValues.image.repository}:${clusterValues.image.tag}`
const ports = { postgres: 5432, redis: 6379, provider: 8090, till: 3002, smtp: 2525 }

/** Makes a Postgres, a Redis, a provider, a shop and a mail server, all empty, whatever was there. */
export async function putStores(passwords: { readonly redis: string; readonly shop: string }): Promise<void> {
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: storesNamespace } })
  await putProcess('postgres', [
    {
      name: 'postgres',
      image: clusterValues.demo.postgres.image,
      env: [{ name: 'POSTGRES_PASSWORD', value: superuserPassword }],
      ports: [{ containerPort: ports.postgres }],
      resources: { requests: { cpu: '100m' } },
      readinessProbe: { exec: { command: ['pg_isready', '-q', '-h', '127.0.0.1'] }, periodSeconds: 1 },
    },
  ])
  const users = `user default on #${await sha256(passwords.redis)} ~* &* +@all`
  await putProcess('redis', [
    {
      name: 'redis',
      image: clusterValues.demo.redis.image,
      ports: [{ containerPort: ports.redis }],
      // Without its own share it would wait for every process that starts.
      resources: { requests: { cpu: '200m' } },
      command: ['sh', '-c'],
      args: [
        `echo '${users}' > /data/users.acl && exec redis-server --dir /data --appendonly yes --aclfile /data/users.acl`,
      ],
      readinessProbe: { tcpSocket: { port: ports.redis }, periodSeconds: 1 },
    },
  ])
  await putOutside(passwords.shop)
}

/** The provider, the mail server, and a shop that knows this key. */
export async function putOutside(shopKey: string): Promise<void> {
  const entry = (name: string, main: string, port: number, env: Readonly<Record<string, string>>) => ({
    name,
    image,
    args: [main],
    ports: [{ containerPort: port }],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
  })
  await putProcess('outside', [
    entry('provider', 'standalone/demo-provider/main.ts', ports.provider, {
      DEMO_PROVIDER_HOST: '0.0.0.0',
      DEMO_PROVIDER_PORT: String(ports.provider),
    }),
    entry('till', 'standalone/yookassa/main.ts', ports.till, {
      TEST_PAYMENTS_HOST: '0.0.0.0',
      TEST_PAYMENTS_SHOP_ID: '123456',
      TEST_PAYMENTS_SECRET_KEY: shopKey,
    }),
    entry('mail', 'release/mailbox/main.ts', ports.smtp, {
      MAILBOX_HOST: '0.0.0.0',
      MAILBOX_SMTP_PORT: String(ports.smtp),
      MAILBOX_PORT: '8025',
    }),
  ])
}

/** An empty database and a user who owns it, as an administrator of Postgres creates them: no superuser. */
export async function makeDatabase(ownersPassword: string): Promise<void> {
  for (const statement of [
    `create role operations login createrole password '${ownersPassword}'`,
    'create database model_gateway owner operations',
  ])
    await asSuperuser(statement)
}

/** Runs a statement as who runs the Postgres server. */
export function asSuperuser(statement: string): Promise<string> {
  const psql = ['psql', '-h', '/tmp', '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-Atc', statement]
  return eventually(() => kubectlOk(['-n', storesNamespace, 'exec', 'deploy/postgres', '--', ...psql]))
}

/** Runs a program of Node in a pod of the cluster; answers what it wrote. */
export function runInCluster(program: string): Promise<string> {
  return kubectlOk([
    '-n',
    storesNamespace,
    'exec',
    'deploy/outside',
    '-c',
    'provider',
    '--',
    'node',
    '-e',
    program,
  ])
}

async function putProcess(name: string, containers: readonly object[]): Promise<void> {
  const labels = { app: name }
  const metadata = { name, namespace: storesNamespace }
  await apply(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        selector: labels,
        ports: Object.entries(ports).map(([name, port]) => ({ name, port })),
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 1,
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 5 } },
      },
    },
  )
  const status = ['rollout', 'status', `deployment/${name}`, '--timeout=120s']
  await kubectlOk(['-n', storesNamespace, ...status])
}

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(text))).toString('hex')
}
