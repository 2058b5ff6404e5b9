import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { expect, vi } from 'vitest'
import { createPool } from '#core/db/pool'
import { chartFolder, findHelm, helm, helmOk } from '../support/helm.ts'
import { runEntry } from '../support/run-entry.ts'
import { kubectlOk, withPortForward } from './kubernetes.ts'
import { kubeconfig, valuesFiles } from './settings.ts'

/** The one release of these tests: a demo in a separate namespace. */
export const namespace = 'mg-e2e'
export const releaseName = 'mg'
/** How the names of its objects begin. */
export const fullname = 'mg-model-gateway'

/** Names the organization whose money a namespace may spend. */
const spendingLabel = 'modelgateway.dev/organization'

/** A namespace that may spend an organization's money. */
type Customer = { readonly namespace: string; readonly organization: string }

const helmTimeout = '8m'
const helmTimeoutMs = 500_000

export const deployments = ['administration', 'cabinet', 'gateway', 'operator', 'receiver', 'worker'] as const

/** Runs Helm on the release's namespace; returns its output. */
export async function helmHere(args: readonly string[]): Promise<string> {
  return helmOk(await findHelm(undefined, 3), [...args, '--namespace', namespace], {
    kubeconfig,
    timeoutMs: helmTimeoutMs,
  })
}

/** Installs or upgrades the release, and waits until every process is ready. */
export async function putRelease(settings: readonly string[] = []): Promise<void> {
  await helmHere([
    'upgrade',
    '--install',
    releaseName,
    chartFolder,
    '--create-namespace',
    '--values',
    valuesFiles,
    ...settings.flatMap((setting) => ['--set', setting]),
    '--wait',
    '--timeout',
    helmTimeout,
  ])
}

/** Removes the release, its namespace and the kinds: what `keep` keeps, too. */
export async function removeEverything(): Promise<void> {
  await helm(await findHelm(undefined, 3), ['uninstall', releaseName, '--namespace', namespace, '--wait'], {
    kubeconfig,
    timeoutMs: helmTimeoutMs,
  })
  // A namespace with a pod that is ending is looked at again after half of that pod's grace: five minutes here.
  await kubectlOk(['-n', namespace, 'delete', 'deployments,pods', '--all', '--wait'])
  await kubectlOk(['delete', 'namespace', namespace, '--ignore-not-found', '--wait'])
  await kubectlOk(['delete', 'namespaces', '--wait', '--selector', spendingLabel])
  await kubectlOk(['delete', 'namespace', 'e2e-provider', '--ignore-not-found', '--wait'])
  const kinds = (await kubectlOk(['get', 'crds', '-o', 'name']))
    .split('\n')
    .filter((name) => name.endsWith('.modelgateway.dev'))
  if (kinds.length > 0) await kubectlOk(['delete', '--wait', ...kinds])
}

/** Does some work on the release's database, as its owner. */
export function withDatabase<Answer>(work: (pool: Pool, url: string) => Promise<Answer>): Promise<Answer> {
  const target = { namespace, service: `${fullname}-trial-postgres`, port: 5432 }
  return withPortForward(target, async (port) => {
    const password = await secretValue(namespace, `${fullname}-secrets`, 'TRIAL_DATABASE_PASSWORD')
    const url = `postgres://model_gateway:${password}@127.0.0.1:${port}/model_gateway`
    const pool = createPool({ databaseUrl: url, applicationName: 'model-gateway-e2e' })
    try {
      return await work(pool, url)
    } finally {
      await pool.end()
    }
  })
}

export async function secretValue(inNamespace: string, name: string, key: string): Promise<string> {
  const encoded = await kubectlOk(['-n', inNamespace, 'get', 'secret', name, '-o', `jsonpath={.data.${key}}`])
  return Buffer.from(encoded, 'base64').toString()
}

/** An organization with a balance, and a namespace that may spend it. */
export async function createCustomer(balanceRub: string): Promise<Customer> {
  const organization = `org-${randomBytes(4).toString('hex')}`
  await withDatabase(async (_pool, url) => {
    const args = [organization, balanceRub]
    const ended = await runEntry('core/organizations/main.ts', { DATABASE_URL: url }, { args })
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
  })
  return allowNamespace(organization, organization)
}

/** Makes a namespace that may spend an organization's money. */
export async function allowNamespace(name: string, organization: string): Promise<Customer> {
  await apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { [spendingLabel]: organization } },
  })
  return { namespace: name, organization }
}

/** Applies an ApiKey, waits until it is Ready, and answers what its Secret holds. */
export async function createKey(
  customer: Customer,
  name: string,
  spec: object = {},
): Promise<{ readonly key: string; readonly baseUrl: string }> {
  await apply({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name, namespace: customer.namespace },
    spec: { organization: customer.organization, ...spec },
  })
  await kubectlOk([
    '-n',
    customer.namespace,
    'wait',
    '--for=condition=Ready',
    `apikey/${name}`,
    '--timeout=120s',
  ])
  return {
    key: await secretValue(customer.namespace, `${name}-apikey`, 'OPENAI_API_KEY'),
    baseUrl: await secretValue(customer.namespace, `${name}-apikey`, 'OPENAI_BASE_URL'),
  }
}

export async function apply(...objects: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  await kubectlOk(['apply', '-f', '-'], JSON.stringify(list))
}

/** The image of a process, as its Deployment has it. */
export async function imageOf(component: string): Promise<string> {
  return kubectlOk([
    '-n',
    namespace,
    'get',
    'deployment',
    `${fullname}-${component}`,
    '-o',
    'jsonpath={.spec.template.spec.containers[0].image}',
  ])
}

/** Names of the pods of a process that are not about to end. */
export async function podsOf(component: string): Promise<readonly string[]> {
  const list: { items: { metadata: { name: string; deletionTimestamp?: string } }[] } = JSON.parse(
    await kubectlOk([
      '-n',
      namespace,
      'get',
      'pods',
      '-o',
      'json',
      '-l',
      `app.kubernetes.io/instance=${releaseName},app.kubernetes.io/component=${component}`,
    ]),
  )
  return list.items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)
}

/** Resolves once a process has all its pods, ready. */
export async function rolledOut(component: string): Promise<void> {
  await kubectlOk([
    '-n',
    namespace,
    'rollout',
    'status',
    `deployment/${fullname}-${component}`,
    '--timeout=170s',
  ])
}

/** Resolves once Postgres or Redis is ready. */
export async function storeIsReady(store: string): Promise<void> {
  await kubectlOk([
    '-n',
    namespace,
    'wait',
    `statefulset/${fullname}-${store}`,
    '--timeout=170s',
    '--for=jsonpath={.status.readyReplicas}=1',
  ])
}

/** Retries an expectation for as long as a cluster may take. */
export function eventually<Answer>(expectation: () => Promise<Answer>, timeoutMs = 60_000): Promise<Answer> {
  return vi.waitFor(expectation, { timeout: timeoutMs, interval: 500 })
}
