import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'
import { type KubeProgram, kubernetesVersion, kubeSources } from './kube-sources.ts'

/** Paths of what a Kubernetes API is made of. */
export type KubeAssets = {
  readonly etcd: string
  readonly kubeApiserver: string
  readonly kubeControllerManager: string
  readonly kubectl: string
}

type Found = Partial<Record<KubeProgram, string>>

/** What `setup-envtest` brings. */
const programsOfEnvtest: readonly KubeProgram[] = ['etcd', 'kube-apiserver', 'kubectl']
const programs: readonly KubeProgram[] = [...programsOfEnvtest, 'kube-controller-manager']
/** Another version of these serves as well; the API server's own is what tests are about. */
const programsOfPath: readonly KubeProgram[] = ['etcd', 'kubectl']
const workPrefix = 'making-'

/**
 * Finds etcd, kube-apiserver, kubectl and kube-controller-manager, in this order:
 *
 * - in the folder KUBEBUILDER_ASSETS, which may lack the last
 * - in the cache, which is outside the checkout, and on PATH (etcd and kubectl)
 * - otherwise builds the missing ones in the cache, by `kubeSources`
 *
 * Parallel processes build them only once, and a process that is killed during that leaves no partial files.
 *
 * @param say receives progress if that takes long.
 * @throws Error with installation instructions when nothing works.
 */
export async function findKubeAssets(say: (line: string) => void = () => undefined): Promise<KubeAssets> {
  const named = process.env.KUBEBUILDER_ASSETS
  const given = named ? await findIn([named], programs) : {}
  if (named && programsOfEnvtest.some((program) => given[program] === undefined))
    fail(given, [`KUBEBUILDER_ASSETS says ${named}, and they are not there`])
  const cache = join(cacheFolder, 'kube-assets', kubernetesVersion)
  const look = () => findAtHand(cache, given)
  const atHand = whole(await look())
  if (atHand !== undefined) return atHand
  await mkdir(cache, { recursive: true })
  return withFileLock(join(cache, 'lock'), () => make(cache, look, say))
}

/** The path given first, then the cache: what is there is of the right version. */
async function findAtHand(cache: string, given: Found): Promise<Found> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return { ...(await findIn(folders, programsOfPath)), ...(await findIn([cache], programs)), ...given }
}

async function make(
  cache: string,
  look: () => Promise<Found>,
  say: (line: string) => void,
): Promise<KubeAssets> {
  // The holder of the lock is the only builder: unfinished work is of a process that was killed.
  for (const name of await readdir(cache))
    if (name.startsWith(workPrefix)) await rm(join(cache, name), { recursive: true, force: true })
  const failures: string[] = []
  let found = await look()
  for (const { gives, work, put } of kubeSources) {
    const wanted = gives.filter((program) => found[program] === undefined)
    if (wanted.length === 0) continue
    const folder = await mkdtemp(join(cache, workPrefix))
    try {
      say(`${wanted.join(', ')}: ${work}`)
      await put(folder, wanted)
      for (const [program, path] of Object.entries(await findIn([folder], wanted)))
        await rename(path, join(cache, program))
    } catch (error) {
      failures.push(`${work}: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    found = await look()
  }
  return whole(found) ?? fail(found, failures)
}

async function findIn(folders: readonly string[], names: readonly KubeProgram[]): Promise<Found> {
  const found: Found = {}
  for (const name of names)
    for (const folder of folders) {
      const path = join(folder, name)
      const usable = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (usable) found[name] ??= path
    }
  return found
}

function whole(found: Found): KubeAssets | undefined {
  const {
    etcd,
    'kube-apiserver': kubeApiserver,
    'kube-controller-manager': kubeControllerManager,
    kubectl,
  } = found
  if (etcd === undefined || kubeApiserver === undefined) return undefined
  if (kubeControllerManager === undefined || kubectl === undefined) return undefined
  return { etcd, kubeApiserver, kubeControllerManager, kubectl }
}

function fail(found: Found, failures: readonly string[]): never {
  const missing = programs.filter((program) => found[program] === undefined)
  throw new Error(
    [
      `Tests on a Kubernetes API need ${missing.join(', ')}, and could neither find nor make them.`,
      ...failures,
      'Install Go 1.26 or newer (https://go.dev/dl) and let it reach its module proxy, or set KUBEBUILDER_ASSETS to a ' +
        'folder with etcd, kube-apiserver and kubectl, such as setup-envtest makes.',
    ].join('\n'),
  )
}
