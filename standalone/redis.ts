import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { loginOf, ownersLogin, type RedisUser } from '#core/admission/redis-users'
import { findFreePort } from './port.ts'
import { type Account, canRun, findAccount, giveFolder } from './server-account.ts'
import { watchOver } from './watchdog.ts'

const run = promisify(execFile)

/** Redis 7.0 introduced functions, `allow-oom` and `no-writes` scripts. */
const majorVersionMin = 7
const serverNames = ['redis-server', 'valkey-server']
/** Where packages install servers. These folders may not be in PATH. */
const usualFolders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']
const installTimeoutMs = 180_000
const startTimeoutMs = 20_000
const stopTimeoutMs = 10_000
/** How many times to retry if another process takes the free port first. */
const portTriesMax = 5
const outputBytesMax = 4_000

/** A Redis user and its password. */
export type Login = { readonly user: RedisUser; readonly password: string }

/** A Redis or Valkey server started by this process, on loopback. */
export type RedisServer = {
  /** For the user with all permissions, including its password if it has one. */
  readonly url: string
  readonly port: number
  /** Process ID of the current run; `undefined` while stopped. */
  pid(): number | undefined
  /** Stops it in order (SIGTERM): everything is written to disk. */
  stop(): Promise<void>
  /** Kills it (SIGKILL). */
  kill(): Promise<void>
  /** Restarts it on the same port and data. */
  start(): Promise<void>
  /** Freezes it (SIGSTOP): connections stay open but get no responses. */
  freeze(): void
  thaw(): void
  /** Kills it, and removes the data if the folder is temporary. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a Redis on 127.0.0.1 that never evicts and writes to its append-only file every second. It runs as the
 * current user, or as root as the system user `model-gateway`, which then owns the folder and files of its data.
 *
 * @param options.dataDir created if missing; default: a temporary folder.
 * @param options.password of the user with all permissions; default: no password.
 * @param options.logins users with fewer permissions.
 * @param options.port default: any free port.
 * @param options.maxmemory in Redis's format (`64mb`); default: no limit.
 * @param options.server path of the server; default: `findRedisServer()`.
 * @param options.settings further settings, as arguments of the server.
 * @throws Error with its output, if it does not start.
 */
export async function startRedis(
  options: {
    readonly dataDir?: string
    readonly port?: number
    readonly maxmemory?: string
    readonly appendonly?: 'yes' | 'no'
    readonly server?: string
    readonly password?: string
    readonly logins?: readonly Login[]
    readonly settings?: readonly string[]
  } = {},
): Promise<RedisServer> {
  const server = options.server ?? (await findRedisServer())
  const account = await findAccount()
  await requireRunnable(server, account)
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'mg-redis-')))
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o700)
  await giveFolder(dataDir, account)
  const launch = (port: number) =>
    launchServer(server, { ...account, cwd: dataDir }, port, [
      '--appendonly',
      options.appendonly ?? 'yes',
      '--appendfsync',
      'everysec',
      '--maxmemory',
      options.maxmemory ?? '0',
      '--maxmemory-policy',
      'noeviction',
      '--save',
      '',
      ...usersOf(options.password, options.logins ?? []),
      ...(options.settings ?? []),
    ])

  let port = options.port ?? (await findFreePort())
  let running: ChildProcess | undefined
  for (let tries = 1; running === undefined; tries++) {
    try {
      running = await launch(port)
    } catch (error) {
      if (options.port !== undefined || tries === portTriesMax) throw error
      port = await findFreePort()
    }
  }
  const signal = (name: NodeJS.Signals) => running?.kill(name)
  const end = async (name: NodeJS.Signals) => {
    const process = running
    running = undefined
    if (process !== undefined) await endProcess(process, name)
  }
  const killWithUs = () => signal('SIGKILL')
  process.on('exit', killWithUs)
  return {
    url: `redis://${options.password === undefined ? '' : `:${options.password}@`}127.0.0.1:${port}`,
    port,
    pid: () => running?.pid,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async start() {
      running ??= await launch(port)
    },
    freeze: () => void signal('SIGSTOP'),
    thaw: () => void signal('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
      process.off('exit', killWithUs)
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A Redis URL for one of its users. */
export function redisUrlAs({ user, password }: Login, redisUrl: string): string {
  const url = new URL(redisUrl)
  url.username = user.name
  url.password = password
  return url.href
}

/** Configuration of the users. Any local user can read a process's arguments, so they contain only password hashes. */
function usersOf(password: string | undefined, logins: readonly Login[]): readonly string[] {
  const owner = password === undefined ? [] : [ownersLogin(password)]
  const users = logins.map(({ user, password }) => loginOf(user, password))
  return [...owner, ...users].flatMap((words) => ['--user', ...words])
}

/** @throws Error with instructions, if Redis's account cannot run the server. */
async function requireRunnable(server: string, account: Account): Promise<void> {
  if (account === undefined || (await canRun(account, server, ['--version']))) return
  throw new Error(
    `Redis cannot run as root, and the user model-gateway cannot run ${server}. Install Redis where every user can run it ` +
      '(for example `apt-get install redis-server`), run npm start as another user, or set REDIS_URL to a running one.',
  )
}

/**
 * Path of a redis-server or valkey-server ≥ 7. If none is installed, installs one with the system's package manager,
 * if that needs no input (apt-get as root, brew).
 *
 * A service that the package starts is left running and is not used.
 *
 * @param say gets progress lines.
 * @throws Error that names what to install.
 */
export async function findRedisServer(say: (line: string) => void = () => undefined): Promise<string> {
  const found = await findInstalled()
  if (found !== undefined) return found
  const installer = await findInstaller()
  if (installer !== undefined) {
    say(`Installing ${installer.package} with ${installer.command}`)
    await installer.install().catch((error) => say(`Installation failed: ${lastLineOf(error)}`))
    const installed = await findInstalled()
    if (installed !== undefined) return installed
  }
  throw new Error(
    `No redis-server or valkey-server of version ${majorVersionMin} or newer was found. Install one (for example ` +
      '`apt-get install redis-server` or `brew install redis`), or set REDIS_URL to a running Redis.',
  )
}

async function findInstalled(): Promise<string | undefined> {
  for (const name of serverNames) {
    const path = await findOnPath(name)
    if (path === undefined) continue
    const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }))
    if (Number(/\bv=(\d+)/.exec(stdout)?.[1] ?? 0) >= majorVersionMin) return path
  }
  return undefined
}

async function findOnPath(name: string): Promise<string | undefined> {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''),
    ...usualFolders,
  ]
  for (const folder of folders) {
    const path = join(folder, name)
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return path
  }
  return undefined
}

async function findInstaller() {
  const options = {
    timeout: installTimeoutMs,
    env: {
      ...process.env,
      DEBIAN_FRONTEND: 'noninteractive',
      HOMEBREW_NO_AUTO_UPDATE: '1',
      HOMEBREW_NO_ENV_HINTS: '1',
    },
  }
  const apt = await findOnPath('apt-get')
  if (apt !== undefined && process.getuid?.() === 0) {
    const install = async () => {
      const lists = await readdir('/var/lib/apt/lists').catch(() => [])
      if (!lists.some((list) => list.includes('Packages'))) await run(apt, ['update', '-q'], options)
      await run(apt, ['install', '-y', '-q', '--no-install-recommends', 'redis-server'], options)
    }
    return { command: 'apt-get', package: 'redis-server', install }
  }
  const brew = process.platform === 'darwin' ? await findOnPath('brew') : undefined
  if (brew === undefined) return undefined
  const install = async () => void (await run(brew, ['install', 'redis'], options))
  return { command: 'brew', package: 'redis', install }
}

/**
 * Resolves once the server accepts connections. It has a separate process group: Ctrl-C reaches only this process,
 * which stops the server. The server always ends with this process, because a second server would write to the same
 * file.
 *
 * It starts in its folder and uses relative paths, so its account needs no access to parent folders.
 */
async function launchServer(
  server: string,
  place: { readonly uid?: number; readonly gid?: number; readonly cwd: string },
  port: number,
  settings: readonly string[],
): Promise<ChildProcess> {
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--daemonize',
    'no',
    '--logfile',
    '',
    ...settings,
  ]
  const child = spawn('/bin/sh', ['-c', 'umask 077; exec "$0" "$@"', server, ...args], {
    ...place,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const watchdog = watchOver(child.pid, 'TERM', place)
  child.once('exit', () => watchdog.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      child.kill('SIGKILL')
      reject(new Error(`${server} did not start on port ${port}: ${why}\n${output}`))
    }
    const timer = setTimeout(() => fail(`not ready within ${startTimeoutMs} ms`), startTimeoutMs)
    const settle = (outcome: () => void) => {
      clearTimeout(timer)
      outcome()
    }
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-outputBytesMax)
      if (output.includes('Ready to accept connections')) settle(resolve)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('error', (error) => settle(() => fail(error.message)))
    child.once('exit', (code) => settle(() => fail(`it exited with code ${code}`)))
  })
  return child
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGCONT') // a frozen process reacts only to SIGKILL
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await ended
  clearTimeout(timer)
}

function lastLineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? ''
}
