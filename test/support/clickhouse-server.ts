import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '#standalone/port'
import { watchOver } from '#standalone/watchdog'
import { installDebianPackages } from './debian-package.ts'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'

const run = promisify(execFile)
const installTimeoutMs = 300_000
const startTimeoutMs = 60_000

/** The engines that can be installed: an old server of Debian, and the current engine within Python. */
export type ClickHouseForm = 'server 18.16' | 'engine 26.9'

export type RunningClickHouse = {
  readonly form: ClickHouseForm
  readonly port: number
  readonly pid: number
  /** URL of a database that only the caller has. */
  createDatabase(): Promise<string>
  /** @throws Error with its message. */
  query(url: string, sql: string): Promise<string>
  /** Kills it and removes its data. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a ClickHouse with an empty temporary folder; it does not outlive this process. */
export async function startClickHouse(form: ClickHouseForm): Promise<RunningClickHouse> {
  const folder = await mkdtemp(join(tmpdir(), 'mg-clickhouse-'))
  const port = await findFreePort()
  const server = form === 'server 18.16' ? await startServer(folder, port) : await startEngine(folder, port)
  if (server.pid === undefined) throw new Error(`ClickHouse ${form} did not start`)
  const watchdog = watchOver(server.pid, 'TERM')
  await untilReady(port)
  const query: RunningClickHouse['query'] = async (url, sql) => {
    const database = new URL(url).pathname.slice(1)
    const response = await fetch(`http://127.0.0.1:${port}/?database=${database}`, {
      method: 'POST',
      body: sql,
    })
    if (!response.ok) throw new Error(await response.text())
    return response.text()
  }
  return {
    form,
    port,
    pid: server.pid,
    query,
    async createDatabase() {
      const name = `test_${randomBytes(6).toString('hex')}`
      const url = `http://default@127.0.0.1:${port}/${name}`
      await query('http://127.0.0.1/default', `create database ${name}`)
      return url
    },
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
      watchdog.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilReady(port: number): Promise<void> {
  const endsMs = performance.now() + startTimeoutMs
  for (;;)
    try {
      await fetch(`http://127.0.0.1:${port}/ping`)
      return
    } catch (error) {
      if (performance.now() > endsMs) throw error
      await pause(100)
    }
}

async function startServer(folder: string, port: number): Promise<ChildProcess> {
  if (!existsSync(serverPath)) await installDebianPackages('clickhouse-server')
  const config = join(folder, 'config.xml')
  await writeFile(config, configOf(folder, port))
  await writeFile(join(folder, 'users.xml'), usersXml)
  return spawn(serverPath, [`--config-file=${config}`], { stdio: 'ignore' })
}

const serverPath = '/usr/sbin/clickhouse-server'

const configOf = (folder: string, port: number) => `<yandex>
  <logger><level>warning</level><log>${folder}/log</log><errorlog>${folder}/errors</errorlog></logger>
  <http_port>${port}</http_port><listen_host>127.0.0.1</listen_host>
  <path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path>
  <user_files_path>${folder}/files/</user_files_path><format_schema_path>${folder}/schemas/</format_schema_path>
  <mark_cache_size>67108864</mark_cache_size><users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>`

const usersXml = `<yandex><profiles><default/></profiles><quotas><default/></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</yandex>`

/** Pinned; 180 MB, installed once per machine. */
const enginePackages = ['chdb==4.4.0', 'chdb-core==26.9.0']

async function startEngine(folder: string, port: number): Promise<ChildProcess> {
  const installed = join(cacheFolder, 'chdb-26.9.0')
  await mkdir(cacheFolder, { recursive: true })
  if (!existsSync(installed))
    await withFileLock(`${installed}.lock`, async () => {
      if (existsSync(installed)) return
      const work = await mkdtemp(`${installed}-`)
      await run('python3', ['-m', 'pip', 'install', '-q', '--no-deps', '--target', work, ...enginePackages], {
        timeout: installTimeoutMs,
      })
      await rename(work, installed)
    })
  const script = join(import.meta.dirname, 'chdb-server.py')
  return spawn('python3', [script, String(port), join(folder, 'data')], {
    env: { ...process.env, PYTHONPATH: installed },
    stdio: 'ignore',
  })
}
