import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inheritedEnvironment } from '../support/environment.ts'

export type ClientRun = {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Hosts other than this machine that it wanted to reach; it could not. */
  readonly strangers: readonly string[]
}

export type Running = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

const clientTimeoutMs = 50_000

/**
 * Runs a client's program to its end, with nothing but PATH, `env` and an empty home in `cwd`. Without network: requests
 * to other machines go to a proxy that rejects them.
 *
 * @throws Error with its output when it runs longer than `timeoutMs` (50 s).
 */
export async function runClient(
  program: string,
  parameters: readonly string[],
  { cwd, env = {}, timeoutMs = clientTimeoutMs }: Running,
): Promise<ClientRun> {
  const strangers: string[] = []
  const { server, url } = await startClosedDoor(strangers)
  const proxied = Object.fromEntries(
    ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [
      [name, url],
      [name.toLowerCase(), url],
    ]),
  )
  const local = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' }
  try {
    const ended = await run(program, parameters, cwd, timeoutMs, {
      ...inheritedEnvironment,
      ...proxied,
      ...local,
      NODE_USE_ENV_PROXY: '1',
      HOME: cwd,
      ...env,
    })
    return { ...ended, strangers }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

type Ended = Omit<ClientRun, 'strangers'>

function run(
  program: string,
  parameters: readonly string[],
  cwd: string,
  timeoutMs: number,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const child = spawn(program, parameters, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes) => {
    stdout += bytes
  })
  child.stderr.on('data', (bytes) => {
    stderr += bytes
  })
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${program} did not end within ${timeoutMs} ms:\n${stdout}\n${stderr}`))
    }, timeoutMs)
    child.once('error', reject)
    child.once('close', (exitCode) => {
      clearTimeout(timer)
      resolve({ exitCode, stdout, stderr })
    })
  })
}

/** A proxy that lets nothing through and writes down where to. */
async function startClosedDoor(
  strangers: string[],
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((incoming, response) => {
    strangers.push(incoming.url ?? '')
    response.writeHead(403).end()
  })
  server.on('connect', ({ url = '' }, socket) => {
    strangers.push(url)
    socket.on('error', () => undefined) // a client that ends at once resets it
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
