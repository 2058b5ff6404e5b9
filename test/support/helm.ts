import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnvironment, isSlowRun } from './environment.ts'
import { findGoModule } from './go-module.ts'

/** Helm 3, which most people have, and Helm 4, which applies server-side. */
const helmVersions = { 3: 'v3.21.4', 4: 'v4.3.1' } as const

type HelmMajor = keyof typeof helmVersions

/** What the slow run renders and installs with, and every other run. */
export const helmMajor: HelmMajor = isSlowRun ? 3 : 4

/** What a command of Helm did, whether or not it could. */
export type HelmResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

const root = new URL('../..', import.meta.url).pathname
export const chartFolder = join(root, 'charts/model-gateway')
const commandTimeoutMs = 120_000
const outputBytesMax = 16_777_216

/** The path of Helm, built once from its Go module into the cache outside of the checkout. */
export async function findHelm(
  say: (line: string) => void = () => undefined,
  major: HelmMajor = helmMajor,
): Promise<string> {
  const path = `helm.sh/helm/v${major}/cmd/helm`
  return findGoModule({ name: 'helm', path, version: helmVersions[major] }, say)
}

/** Where Helm keeps its files and what it learns of API servers; each test file has its own. */
let home: Promise<string> | undefined
function homeOfHelm(): Promise<string> {
  home ??= mkdtemp(join(tmpdir(), 'mg-helm-')).then((folder) => {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
  })
  return home
}

/** Runs Helm as the user of the kubeconfig; `{}`: without a cluster. */
export async function helm(
  program: string,
  args: readonly string[],
  {
    kubeconfig = '/dev/null',
    input = '',
    timeoutMs = commandTimeoutMs,
  }: { readonly kubeconfig?: string; readonly input?: string; readonly timeoutMs?: number } = {},
): Promise<HelmResult> {
  const env = { ...inheritedEnvironment, KUBECONFIG: kubeconfig, HOME: await homeOfHelm() }
  const options = { env, timeout: timeoutMs, maxBuffer: outputBytesMax, cwd: root }
  return new Promise((resolve) => {
    const child = execFile(program, [...args], options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

/** Like `helm`, but requires success; returns the output. @throws Error with Helm's output. */
export async function helmOk(...call: Parameters<typeof helm>): Promise<string> {
  const { code, stdout, stderr } = await helm(...call)
  if (code !== 0) throw new Error(`helm ${call[1].join(' ')}: ${stderr}`)
  return stdout
}
