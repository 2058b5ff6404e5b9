import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findFreePort } from '#standalone/port'
import { folderOfThisTest } from '../support/folder.ts'
import { secrets, startProcess } from '../support/processes.ts'
import { scriptedApiServerOfThisTest } from './scripted-api-server.ts'

/** Enough for a start; nothing listens at any of these addresses. */
const settings = {
  KEY_PEPPER: secrets.KEY_PEPPER,
  CREDENTIALS_KEY: secrets.CREDENTIALS_KEY,
  DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:9/none',
  GATEWAY_BASE_URL: 'http://gateway.example/v1',
  OPERATOR_NAMESPACE: 'model-gateway',
  OPERATOR_HOST: '127.0.0.1',
  OPERATOR_PROBES_PORT: '0',
  OPERATOR_METRICS_PORT: '0',
}

type Line = { readonly level: number; readonly msg: string; readonly err?: unknown }

/** What a process that could not start has logged. */
async function linesOfFailedStart(
  entry: string,
  env: Readonly<Record<string, string>>,
): Promise<readonly Line[]> {
  const lines: string[] = []
  const failed = startProcess(entry, env, (line) => lines.push(line))
  await expect(failed).rejects.toThrow(`${entry} ended with 1`)
  return lines.map((line) => JSON.parse(line))
}

/** The only line of a process that could not start; warnings of what it goes on without do not count. */
async function lastWord(entry: string, env: Readonly<Record<string, string>>): Promise<string> {
  const said = await linesOfFailedStart(entry, env)
  const fatal = said.filter(({ level }) => level === 60)
  expect(fatal).toHaveLength(1)
  expect(fatal[0]).not.toHaveProperty('err')
  return fatal[0]?.msg ?? ''
}

const operatorSays = (env: Readonly<Record<string, string>>) =>
  lastWord('operator/main.ts', { ...settings, ...env })

/** A kubeconfig for a server on loopback. */
function kubeconfigOfThisTest(port: number): string {
  const path = join(folderOfThisTest('start-up'), 'kubeconfig')
  const kubeconfig = {
    clusters: [
      { name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(path, JSON.stringify(kubeconfig))
  return path
}

test.each([
  ['operator/main.ts', 'the operator', 'OPERATOR_NAMESPACE'],
  ['gateway/main.ts', 'the gateway', 'ROUTES_SIGNING_KEY'],
  ['worker/main.ts', 'the worker', 'REDIS_URL'],
  ['cabinet/web/main.ts', "the cabinet's web process", 'REDIS_URL'],
  ['cabinet/webhook/main.ts', 'the receiver of webhooks', 'DATABASE_URL'],
])('%s without its settings says in one line which ones are missing', async (entry, who, name) => {
  const said = await lastWord(entry, {})
  expect(said).toContain(`could not start: Invalid settings for ${who}: `)
  expect(said).toContain(`${name}: is not set`)
})

test('a process warns in its log of a setting under its old name', async () => {
  const said = await linesOfFailedStart('gateway/main.ts', { KEPT_CHARGES_MAX: '1' })
  expect(said.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
    'KEPT_CHARGES_MAX is deprecated and stops working in 0.3.0. Set BUFFERED_CHARGES_MAX instead.',
  ])
})

test('an operator without a kubeconfig, or with a missing file, reports it', async () => {
  expect(await operatorSays({})).toMatch(/^could not start: KUBECONFIG is not set, .+: set KUBECONFIG to/)
  expect(await operatorSays({ KUBECONFIG: '/nowhere' })).toMatch(
    /^could not start: KUBECONFIG: the file cannot be read \(ENOENT\): set it to/,
  )
})

test('an operator whose API server is unavailable or rejects it reports what to check', async () => {
  expect(await operatorSays({ KUBECONFIG: kubeconfigOfThisTest(await findFreePort()) })).toMatch(
    /^could not start: The Kubernetes API is unavailable: .+: check the server and the credential of the kubeconfig$/,
  )
  const server = await scriptedApiServerOfThisTest((_url, response) =>
    response.writeHead(403).end(JSON.stringify({ message: 'namespaces "kube-system" is forbidden' })),
  )
  const port = Number(new URL(server.kubeConfig.getCurrentCluster()?.server ?? '').port)
  expect(await operatorSays({ KUBECONFIG: kubeconfigOfThisTest(port) })).toBe(
    'could not start: the API server rejected the request: namespaces "kube-system" is forbidden: apply operator/deploy/rbac.yaml, or use a kubeconfig with those permissions',
  )
})

test('an operator whose port is taken reports which one, and how to fix it', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const env = {
    KUBECONFIG: kubeconfigOfThisTest(await findFreePort()),
    OPERATOR_CLUSTER_ID: 'c',
    OPERATOR_PROBES_PORT: String(port),
  }
  expect(await operatorSays(env)).toBe(
    `could not start: listen EADDRINUSE: address already in use 127.0.0.1:${port}: another process listens there: stop it, or set another port`,
  )
})
