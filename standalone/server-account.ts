import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Postgres rejects root, and Redis should not run as root. As root, we run them as this system user, created on first
 * use.
 */
const userName = 'model-gateway'
/** Replaces folders that this user needs but cannot reach, such as a checkout under /root. */
const privateFolder = '/var/lib/model-gateway'

/** The user for the servers: a system user's IDs, or `undefined` for the current user. */
export type Account = { readonly uid: number; readonly gid: number } | undefined

/** The account for the servers: the current user, or as root the system user `model-gateway`. */
export async function findAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined
  const known = await findUser()
  if (known !== undefined) return known
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', privateFolder]
  const failure = await run('useradd', [...options, '--shell', '/usr/sbin/nologin', userName]).then(
    () => undefined,
    (error: Error) => error,
  )
  const made = await findUser() // another process may have created it at the same time
  if (made !== undefined) return made
  throw new Error(
    `Postgres and Redis cannot run as root, and the user ${userName} could not be created. Create it (\`useradd ` +
      `--system ${userName}\`), run npm start as another user, or set DATABASE_URL and REDIS_URL to running ones.`,
    { cause: failure },
  )
}

async function findUser(): Promise<Account> {
  try {
    const uid = Number((await run('id', ['-u', userName])).stdout)
    return { uid, gid: Number((await run('id', ['-g', userName])).stdout) }
  } catch {
    return undefined
  }
}

/**
 * A folder only for `account`, mode 700: `folder` itself, or a replacement if `account` cannot enter it.
 *
 * Empty if `folder` did not exist, even if an earlier folder of that path had a replacement and was deleted manually.
 */
export async function findDataFolder(folder: string, account: Account): Promise<string> {
  const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined
  if (account === undefined) return folder
  await chown(folder, account.uid, account.gid)
  if (await canRun(account, 'test', ['-x', folder])) return folder
  const instead = insteadOf(folder)
  await makePrivateFolder()
  if (isNew) await putAside(instead)
  await mkdir(instead, { recursive: true, mode: 0o700 })
  await chown(instead, account.uid, account.gid)
  return instead
}

/** Its secrets were deleted with the folder that it replaced, but its data must not be deleted without a request. */
async function putAside(folder: string): Promise<void> {
  await rename(folder, `${folder}.aside-${Date.now()}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/** Removes the folder that `findDataFolder` returned for `folder`. */
export async function removeDataFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  if (process.getuid?.() === 0) await rm(insteadOf(folder), { recursive: true, force: true })
}

function insteadOf(folder: string): string {
  const name = createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 16)
  return join(privateFolder, `data-${name}`)
}

/**
 * A folder with the programs of `binaries` (`…/bin`, next to its `lib` and `share`) that `account` can run: that
 * folder or a copy.
 */
export async function findRunnableBinaries(binaries: string, account: Account): Promise<string> {
  if (account === undefined || (await canRun(account, join(binaries, 'postgres'), ['--version'])))
    return binaries
  const source = dirname(binaries)
  const { mtimeMs, size } = await stat(join(binaries, 'postgres'))
  const copy = join(privateFolder, `programs-${size}-${Math.floor(mtimeMs)}`)
  if (!(await canRun(account, join(copy, 'bin', 'postgres'), ['--version']))) {
    const unfinished = `${copy}.${process.pid}`
    await makePrivateFolder()
    await cp(source, unfinished, { recursive: true, verbatimSymlinks: true })
    await run('chmod', ['-R', 'a+rX', unfinished])
    await rm(copy, { recursive: true, force: true })
    await rename(unfinished, copy)
  }
  return join(copy, basename(binaries))
}

/** All users may pass through it. Its contents have their own permissions. */
async function makePrivateFolder(): Promise<void> {
  await mkdir(privateFolder, { recursive: true })
  await chmod(privateFolder, 0o755)
}

/** Makes an account the owner of a folder and its contents. */
export async function giveFolder(folder: string, account: Account): Promise<void> {
  if (account !== undefined) await run('chown', ['-hR', `${account.uid}:${account.gid}`, folder])
}

/** Whether an account can run a program. */
export async function canRun(account: Account, command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args, { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  )
}
