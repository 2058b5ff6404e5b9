import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { pepper } from './customer.ts'
import { inheritedEnvironment } from './environment.ts'

/** A process of this project, as a cluster would run it: with separate memory, connections and end. */
export type Process = {
  readonly pid: number
  /** Ends with `/v1`; a gateway's only. */
  readonly baseUrl: string
  readonly adminUrl: string
  /** SIGKILL: nothing is tidied up. */
  kill(): Promise<void>
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>
  freeze(): void
  thaw(): void
  readonly hasEnded: () => boolean
  /** Its exit code; `null` while it runs, and when a signal ended it. */
  readonly exitCode: () => number | null
}

/** Secrets of every process of a test. */
export const secrets = {
  KEY_PEPPER: pepper,
  CREDENTIALS_KEY: Buffer.alloc(32, 7).toString('base64'),
  ROUTES_SIGNING_KEY: 'the key that signs routes in tests',
  CABINET_SEALING_KEY: Buffer.alloc(32, 9).toString('base64'),
  ADMINISTRATION_SEALING_KEY: Buffer.alloc(32, 11).toString('base64'),
}

const readyPollMs = 20
/** Last lines of a process that a message about its end shows. */
const tailLinesMax = 50

/** They end with us. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Starts `node <entry>` with nothing but PATH and `env`, and resolves once it has reported that it started.
 *
 * It ends with this process, however that ends. `onLine` receives each line of its output.
 *
 * @throws Error with the last lines of its output when it ended instead.
 */
export async function startProcess(
  entry: string,
  env: Readonly<Record<string, string>>,
  onLine: (line: string) => void = () => undefined,
): Promise<Process> {
  const child = spawn(process.execPath, [entry], {
    env: { ...inheritedEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const tail: string[] = []
  const keep = (line: string) => {
    if (tail.push(line) > tailLinesMax) tail.shift()
    onLine(line)
  }
  createInterface(child.stderr).on('line', keep)
  const started = new Promise<{ port?: number; adminPort: number }>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      keep(line)
      if (line.includes('started')) resolve(JSON.parse(line))
    })
    child.once('exit', (code) => reject(new Error(`${entry} ended with ${code}:\n${tail.join('\n')}`)))
  })
  const { port, adminPort } = await started
  return {
    pid: child.pid ?? 0,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    hasEnded: () => hasEnded(child),
    exitCode: () => child.exitCode,
  }
}

/** Resolves once it is ready: its database has been looked at. */
export async function untilReady({ adminUrl }: Process): Promise<void> {
  while ((await fetch(`${adminUrl}/readyz`)).status !== 200) await pause(readyPollMs)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  if (signal !== 'SIGKILL') child.kill('SIGCONT') // a frozen process would never hear it
  await ended
}
