import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '#standalone/port'
import { inheritedEnvironment } from './environment.ts'

/** An etcd or an API server, which can fail and come back on the same port with the same data. */
export type KubeServer = {
  readonly port: number
  /** Of the process that runs now. */
  readonly pid: () => number
  /** SIGKILL. */
  kill(): Promise<void>
  /** Starts it again after a kill, and waits until it is ready. */
  restart(): Promise<void>
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void
  thaw(): void
}

const startTimeoutMs = 60_000
const pollMs = 50
/** How often another process may take a free port before the server does. */
const portTriesMax = 3
const outputBytesMax = 8_000
/** Their heaps stay small; collected as often as Go does by itself they took a fifth more of two processors. */
const idleCollector = { GOGC: 'off', GOMEMLIMIT: '1GiB' } as const

/**
 * Starts a server on a free port of loopback; it ends with this process, however that ends.
 *
 * @param folder its data, removed with it when this process dies before it has ended the server.
 * @param argsFor its arguments, given its port.
 * @param isReady whether it does its work; may throw while it does not.
 * @throws Error when it does not come up, with the end of its output.
 */
export async function startKubeServer(
  program: string,
  folder: string,
  argsFor: (port: number) => readonly string[],
  isReady: (port: number) => Promise<boolean>,
): Promise<KubeServer> {
  const start = (port: number) => launch(program, folder, argsFor(port), () => isReady(port))
  let port = await findFreePort()
  let running: ChildProcess | undefined
  for (let tries = 1; running === undefined; tries++)
    try {
      running = await start(port)
    } catch (error) {
      if (tries === portTriesMax) throw error
      port = await findFreePort()
    }
  return {
    port,
    async kill() {
      if (running !== undefined) await end(running)
      running = undefined
    },
    async restart() {
      running ??= await start(port)
    },
    pid: () => running?.pid ?? 0,
    freeze: () => void running?.kill('SIGSTOP'),
    thaw: () => void running?.kill('SIGCONT'),
  }
}

async function launch(
  program: string,
  folder: string,
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Promise<ChildProcess> {
  const child = spawn(program, args, {
    env: { ...inheritedEnvironment, ...idleCollector },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithUs(child, folder)
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk).slice(-outputBytesMax)
  })
  const deadline = Date.now() + startTimeoutMs
  try {
    while (!(await isReady().catch(() => false))) {
      if (hasEnded(child)) throw new Error(`${program} has ended:\n${output}`)
      if (Date.now() > deadline)
        throw new Error(`${program} is not ready after ${startTimeoutMs} ms:\n${output}`)
      await pause(pollMs)
    }
    return child
  } catch (error) {
    await end(child)
    throw error
  }
}

/** Ends it when we end, even by SIGKILL: a shell hears its input close then. */
function endWithUs(child: ChildProcess, folder: string): void {
  const script = 'cat; kill -9 "$0"; rm -rf "$1"'
  const guard = spawn('sh', ['-c', script, String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.once('exit', () => guard.kill('SIGKILL'))
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
