import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { loginOf, ownersLogin, type RedisUser } from '#cabinet/admission/redis-users'
import { findFreePort } from './port.ts'
import { type Account, canRun, findAccount, giveFolder } from './server-account.ts'
import { watchOver } from './watchdog.ts'

const run = promisify(execFile)

/** Functions, `allow-oom` and `no-writes` scripts exist from Redis 7.0 on. */
const majorVersionMin = 7
const serverNames = ['redis-server', 'valkey-server']
/** Where packages install servers, whether or not they are in PATH. */
const usualFolders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']
const installTimeoutMs = 180_000
const startTimeoutMs = 20_000
const stopTimeoutMs = 10_000
/** How often another process may take a free port before our server has it. */
const portTriesMax = 5
const outputBytesMax = 4_000

/** A user of Redis, and what it says to be let in. */
export type Login = { readonly user: RedisUser; readonly password: string }

/** A Redis or Valkey server that we started, on loopback. */
export type RedisServer = {
  /** As the user who may do everything; with its password, if it has one. */
  readonly url: string
  readonly port: number
  /** Process id of the present run; `undefined` while stopped. */
  pid(): number | undefined
  /** Ends it in order (SIGTERM): everything written is on disk. */
  stop(): Promise<void>
  /** Ends it at once (SIGKILL). */
  kill(): Promise<void>
  /** Starts it again on the same port and data. */
  start(): Promise<void>
  /** Freezes it (SIGSTOP): connections stay open and nothing answers. */
  freeze(): void
  thaw(): void
  /** Kills it, and removes the data if the folder was a throwaway one. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a Redis of its own on 127.0.0.1 that never evicts and writes each second to its append-only file. It runs as
 * ourselves, or as root as the system user `model-gateway`, whose folder and files then are its data.
 *
 * @param options.dataDir created if missing; default: a throwaway one.
 * @param options.password of the user who may do everything; default: no password is needed.
 * @param options.logins users who may do less.
 * @param options.port default: any free one.
 * @param options.maxmemory as Redis writes it (`64mb`); default: no limit.
 * @param options.server path of the server; default: `findRedisServer()`.
 * @throws Error when it does not start, with its output.
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
      ...['--appendonly', options.appendonly ?? 'yes', '--appendfsync', 'everysec'],
      ...['--maxmemory', options.maxmemory ?? '0', '--maxmemory-policy', 'noeviction', '--save', ''],
      ...usersOf(options.password, options.logins ?? []),
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

/** The address of a Redis for one of its users. */
export function redisUrlAs({ user, password }: Login, redisUrl: string): string {
  const url = new URL(redisUrl)
  url.username = user.name
  url.password = password
  return url.href
}

/** Settings of the users. Anybody may read the arguments of a process: they have hashes of the passwords. */
function usersOf(password: string | undefined, logins: readonly Login[]): readonly string[] {
  const owner = password === undefined ? [] : [ownersLogin(password)]
  const users = logins.map(({ user, password }) => loginOf(user, password))
  return [...owner, ...users].flatMap((words) => ['--user', ...words])
}

/** @throws Error saying what to do where the account that Redis is to run as cannot run it. */
async function requireRunnable(server: string, account: Account): Promise<void> {
  if (account === undefined || (await canRun(account, server, ['--version']))) return
  throw new Error(
    `Redis cannot run as root, and the user model-gateway cannot run ${server}. Install Redis where every user can run it ` +
      '(for example `apt-get install redis-server`), run npm start as another user, or set REDIS_URL to a running one.',
  )
}

/**
 * Path of a redis-server or valkey-server ≥ 7: an installed one, or one installed by the system's package manager where
 * that asks no questions (apt-get as root, brew).
 *
 * A service that the package starts by itself is left alone and not used.
 *
 * @param say called with what is being done if that takes long.
 * @throws Error saying what to install.
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
 * Resolves once the server accepts connections. It has its own process group: Ctrl-C reaches us, and we stop it. It ends
 * with us, however we end: a second one would write to the same file.
 *
 * It starts in its folder and uses relative paths, so its account needs no access to the folders above.
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
  child.kill('SIGCONT') // a frozen one hears nothing but SIGKILL
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await ended
  clearTimeout(timer)
}

function lastLineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? ''
}
