import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { type PostgresServer, startEmbeddedPostgres } from '#standalone/postgres'
import { findAccount, findDataFolder, removeDataFolder } from '#standalone/server-account'
import { inheritedEnvironment } from '../support/environment.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}

async function withFolder(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mg-test-')) // mode 700: as root, no other user can enter
  await work(dataDir).finally(() => removeDataFolder(dataDir))
}

test('what was committed survives a kill -9, a stop and another start on the same folder', async () => {
  await withFolder(async (folder) => {
    const dataDir = join(folder, 'postgres') // to be reached through a folder that is not ours to open
    const first = await startEmbeddedPostgres({ durability: 'safe', dataDir })
    await query(first.url, 'create table kept as select 1 as row')
    const pid = first.pid()
    await first.kill()
    expect(first.pid()).toBeUndefined()
    await first.start()
    expect(first.pid()).not.toBe(pid)
    await query(first.url, 'insert into kept values (2)')
    await first.stop()

    await using second = await startEmbeddedPostgres({ durability: 'safe', dataDir })
    expect(await query(second.url, 'select row from kept order by 1')).toEqual([{ row: 1 }, { row: 2 }])
    await second[Symbol.asyncDispose]()
    await removeDataFolder(dataDir)
  })
})

test('a folder that was deleted manually and recreated begins empty, and its earlier data is put aside', async () => {
  await withFolder(async (parent) => {
    const account = await findAccount()
    const dataDir = join(parent, 'postgres')
    const before = await findDataFolder(dataDir, account)
    await writeFile(join(before, 'kept'), 'x')
    expect(await findDataFolder(dataDir, account)).toBe(before)
    expect(await readdir(before)).toEqual(['kept'])
    await rm(dataDir, { recursive: true })
    const after = await findDataFolder(dataDir, account)
    expect(await readdir(after)).toEqual([])
    if (account === undefined) return // where it runs as ourselves the folder is itself, and what it had is gone
    const siblings = await readdir(dirname(after))
    const [aside = expect.fail('nothing is aside')] = siblings.filter((name) =>
      name.startsWith(`${basename(after)}.aside-`),
    )
    expect(await readdir(join(dirname(after), aside))).toEqual(['kept'])
    await rm(join(dirname(after), aside), { recursive: true })
    await removeDataFolder(dataDir)
  })
})

test('only the password opens it, only on loopback, and the file that holds it is private', async () => {
  await withFolder(async (dataDir) => {
    await using postgres = await startEmbeddedPostgres({ durability: 'fast', dataDir })
    const wrong = Object.assign(new URL(postgres.url), { password: 'wrong' })
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    expect(await query(postgres.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    const folder = await findDataFolder(dataDir, await findAccount())
    expect((await stat(join(folder, 'password'))).mode & 0o777).toBe(0o600)
    expect(postgres.url).toContain((await readFile(join(folder, 'password'), 'utf8')).trim())
  })
})

test('what a dead server left behind does not keep it from starting, even if its process id lives again', async () => {
  await withFolder(async (dataDir) => {
    const postgres = await startEmbeddedPostgres({ durability: 'fast', dataDir })
    await postgres.kill()
    const file = join(await findDataFolder(dataDir, await findAccount()), 'cluster', 'postmaster.pid')
    const [, ...rest] = (await readFile(file, 'utf8')).split('\n')
    await writeFile(file, [process.pid, ...rest].join('\n'))
    await postgres.start()
    expect(await query(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres[Symbol.asyncDispose]()
  })
})

test('a second server on the same folder is refused', async () => {
  await withFolder(async (dataDir) => {
    await using postgres = await startEmbeddedPostgres({ durability: 'fast', dataDir })
    await expect(startEmbeddedPostgres({ durability: 'fast', dataDir })).rejects.toThrow(
      'Is npm start already running?',
    )
    expect(await query(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

test('a port that is taken is named', async () => {
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  const address = occupant.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  await expect(startEmbeddedPostgres({ durability: 'fast', port: address.port })).rejects.toThrow(
    `port ${address.port} is already in use`,
  )
  occupant.close()
})

test('a server goes when the process that started it is killed', async () => {
  const program = `
    const { startEmbeddedPostgres } = await import('#standalone/postgres')
    const postgres = await startEmbeddedPostgres({ durability: 'fast' })
    console.log(JSON.stringify({ pid: postgres.pid(), url: postgres.url }))
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: inheritedEnvironment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const server: { pid: number; url: string } = JSON.parse(String(line))
  const folder = dataFolderOf(server.pid)
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(() => process.kill(server.pid, 0)).toThrow('ESRCH'), { timeout: 10_000 })
  await removeDataFolder(folder)
})

/** The throwaway folder that the killed process can no longer remove. */
function dataFolderOf(pid: number): string {
  const command = execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
  return / -D (\S+)\/cluster /.exec(command)?.[1] ?? ''
}

test('stopping twice, or starting what runs, does nothing', async () => {
  const postgres: PostgresServer = await startEmbeddedPostgres({ durability: 'fast' })
  const pid = postgres.pid()
  await postgres.start()
  expect(postgres.pid()).toBe(pid)
  await postgres.stop()
  await postgres.stop()
  await postgres[Symbol.asyncDispose]()
})
