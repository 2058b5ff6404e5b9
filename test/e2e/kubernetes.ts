import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inheritedEnvironment } from '../support/environment.ts'
import { kubeconfig } from './settings.ts'

const kubectlTimeoutMs = 180_000
const outputBytesMax = 64 * 1024 * 1024

/** Without a home, kubectl would keep what it learns of the API server in the folder where it is run. */
const environment = {
  ...inheritedEnvironment,
  KUBECONFIG: kubeconfig,
  KUBECACHEDIR: join(tmpdir(), 'mg-e2e-kubectl'),
}

type KubectlResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** Runs kubectl and answers what it did, whether or not it could. */
export function kubectl(args: readonly string[], input = ''): Promise<KubectlResult> {
  const options = {
    env: environment,
    timeout: kubectlTimeoutMs,
    maxBuffer: outputBytesMax,
  }
  return new Promise((resolve) => {
    const child = execFile('kubectl', [...args], options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

/** Like `kubectl`, but requires success; returns the output. @throws Error with kubectl's output. */
export async function kubectlOk(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, input)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Does some work with a port of this machine that leads to a port of a Service's pod. */
export async function withPortForward<Answer>(
  target: { readonly namespace: string; readonly service: string; readonly port: number },
  work: (port: number) => Promise<Answer>,
): Promise<Answer> {
  const child = spawn(
    'kubectl',
    ['-n', target.namespace, 'port-forward', `service/${target.service}`, `:${target.port}`],
    { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  try {
    return await work(await forwardedPort(child.stdout, child.stderr))
  } finally {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  }
}

async function forwardedPort(stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream): Promise<number> {
  const errors: string[] = []
  createInterface(stderr).on('line', (line) => errors.push(line))
  for await (const line of createInterface(stdout)) {
    const port = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error(`kubectl port-forward: ${errors.join('\n')}`)
}
