import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import OpenAI from 'openai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { folderOfThisTest } from '../support/folder.ts'
import { createDatabase } from '../support/postgres.ts'
import { descendantsOf, isRunning } from '../support/process-tree.ts'
import { launch, type Standalone, startStandalone } from '../support/standalone.ts'

async function start(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<Standalone> {
  const system = await startStandalone({ DATA_DIR: dataDir, ...env }, args)
  onTestFinished(system.kill)
  return system
}

async function say(system: Standalone, content: string, apiKey = system.apiKey) {
  const client = new OpenAI({ baseURL: system.baseUrl, apiKey, maxRetries: 0 })
  return client.chat.completions
    .create({ model: 'demo/echo', messages: [{ role: 'user', content }] })
    .withResponse()
}

async function receiptOf({ baseUrl, apiKey }: Standalone, requestId: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${apiKey}` }
  return (await fetch(`${baseUrl}/requests/${requestId}`, { headers })).json()
}

test('one command starts everything within 15 s; data and key survive a restart; reset removes them', async () => {
  const dataDir = folderOfThisTest('start')
  const first = await start(dataDir)
  expect(first.readyMs).toBeLessThan(15_000)
  const { data, response } = await say(first, 'still here')
  expect(data.choices[0]?.message.content).toBe('still here')
  expect(Number(response.headers.get('x-gateway-cost-rub'))).toBeGreaterThan(0)
  expect((await fetch(`${first.adminUrl}/readyz`)).status).toBe(200)
  expect((await fetch(first.cabinetUrl)).status).toBe(200)
  await vi.waitFor(
    async () =>
      expect(await receiptOf(first, response.headers.get('x-gateway-request-id') ?? '')).toMatchObject({
        cost_rub: response.headers.get('x-gateway-cost-rub'),
      }),
    { timeout: 1000, interval: 50 },
  )
  expect(await first.stop()).toBe(0)
  await expect(fetch(`${first.adminUrl}/livez`)).rejects.toThrow()

  const second = await start(dataDir)
  expect(second.apiKey).toBe(first.apiKey)
  const early = launch('standalone/reset.ts', { DATA_DIR: dataDir })
  expect(await once(early, 'exit')).toEqual([1, null])
  await say(second, 'again')
  expect(await second.stop()).toBe(0)

  const reset = launch('standalone/reset.ts', { DATA_DIR: dataDir })
  expect(await once(reset, 'exit')).toEqual([0, null])
  const third = await start(dataDir)
  expect(third.apiKey).not.toBe(first.apiKey)
  expect(await third.stop()).toBe(0)
}, 90_000)

test('another database begins with its own keys, and the files of the first one wait for its return', async () => {
  const dataDir = folderOfThisTest('two-databases')
  const folder = folderOfThisTest('two-databases-manifests')
  writeFileSync(
    join(folder, 'ci.yaml'),
    'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ci}\nspec: {organization: acme}\n',
  )
  const keyOf = (name: string) => readFileSync(join(dataDir, 'keys', name), 'utf8').trim()
  const first = await start(dataDir, {}, ['--manifests', folder])
  const firstCi = keyOf('ci')
  await say(first, 'first', firstCi)
  expect(await first.stop()).toBe(0)

  const database = await createDatabase({ template: 'template0' })
  onTestFinished(() => database[Symbol.asyncDispose]())
  const second = await start(dataDir, { DATABASE_URL: database.url }, ['--manifests', folder])
  expect(second.cabinet, 'nobody is made in a database of somebody else').toBeNull()
  for (const known of [second.apiKey, keyOf('ci')]) {
    const { data } = await say(second, 'second', known)
    expect(data.choices[0]?.message.content).toBe('second')
  }
  for (const unknown of [first.apiKey, firstCi])
    await expect(say(second, 'second', unknown)).rejects.toMatchObject({ status: 401 })
  expect(await second.stop()).toBe(0)

  const third = await start(dataDir, {}, ['--manifests', folder])
  expect([third.apiKey, keyOf('ci')]).toEqual([first.apiKey, firstCi])
  await say(third, 'first again', firstCi)
  await expect(say(third, 'first again', second.apiKey)).rejects.toMatchObject({ status: 401 })
  expect(await third.stop()).toBe(0)
}, 90_000)

test('a database whose keys were made with another data folder is refused in one sentence', async () => {
  const database = await createDatabase({ template: 'template0' })
  onTestFinished(() => database[Symbol.asyncDispose]())
  const env = { DATABASE_URL: database.url }
  expect(await (await start(folderOfThisTest('peppered'), env)).stop()).toBe(0)
  const dataDir = folderOfThisTest('unpeppered')
  const child = launch('standalone/main.ts', { ...env, DATA_DIR: dataDir })
  const errors = text(child.stderr)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(await errors).toContain(
    `The API keys of this database were created with a different pepper than the one in ${join(dataDir, 'secrets.json')}`,
  )
}, 60_000)

test('a busy port is reported in one sentence with the setting, and nothing is started', async () => {
  const taken = createServer().listen(0)
  await once(taken, 'listening')
  onTestFinished(() => void taken.close())
  const address = taken.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const child = launch('standalone/main.ts', {
    DATA_DIR: folderOfThisTest('busy'),
    GATEWAY_PORT: String(port),
  })
  const errors = text(child.stderr)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(await errors).toContain(
    `Port ${port} is already in use. Stop the program that uses it, or choose another port with GATEWAY_PORT=`,
  )
})

test('other machines reach nothing of it, and other users read nothing', async () => {
  const dataDir = folderOfThisTest('closed')
  const secrets = { keyPepper: 'p'.repeat(44), credentialsKey: Buffer.alloc(32).toString('base64') }
  const older = { ...secrets, routesSigningKey: 's'.repeat(44) } // as a version wrote it that knew no others
  writeFileSync(join(dataDir, 'secrets.json'), JSON.stringify(older), { mode: 0o644 })
  writeFileSync(join(dataDir, 'log'), '', { mode: 0o644 })
  mkdirSync(join(dataDir, 'redis'), { mode: 0o755 })
  const system = await start(dataDir)
  expect(JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'))).toMatchObject(older)
  await say(system, 'an older folder goes on working')

  const children = descendantsOf(system.pid)
  const listening = [system.pid, ...children.map(({ pid }) => pid)].flatMap(listeningOf)
  expect(listening.length).toBeGreaterThanOrEqual(12) // clients, four admins, cabinet, mailbox, receiver, test payment provider, demo provider, Redis, Postgres
  expect(listening.filter((address) => !['127.0.0.1', '::1'].includes(address))).toEqual([])

  const isOpen = (file: string) => (statSync(join(dataDir, file)).mode & 0o077) !== 0
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
  expect(files).toEqual(
    expect.arrayContaining(['log', 'redis/appendonlydir', 'secrets.json', 'pid', 'database']),
  )
  expect(files.filter((file) => !file.startsWith('postgres/') && isOpen(file))).toEqual([])

  const redis = children.find(({ command }) => command.includes('redis-server'))?.command ?? ''
  const stranger = new Redis(Number(/127\.0\.0\.1:(\d+)/.exec(redis)?.[1]), '127.0.0.1')
  stranger.on('error', () => undefined) // each answer is an error
  onTestFinished(() => stranger.disconnect())
  await expect(stranger.get('mg:routes:rev')).rejects.toThrow(/NOAUTH/)
  expect(children.map(({ pid }) => userOf(pid))).not.toContain(0)
  expect(await system.stop()).toBe(0)
}, 60_000)

test('Ctrl-C while it starts ends it and the servers that it had started', async () => {
  const dataDir = folderOfThisTest('interrupted')
  const child = launch('standalone/main.ts', { DATA_DIR: dataDir })
  for await (const line of createInterface(child.stderr)) if (line.includes('the demo provider')) break
  const servers = descendantsOf(child.pid)
  expect(servers.map(({ command }) => command)).toContainEqual(expect.stringContaining('redis-server'))
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([1, null])
  await vi.waitFor(() => expect(servers.filter(isRunning)).toEqual([]), { timeout: 10_000 })
})

test('a setting that makes no sense is named in one line; an empty one is not set', async () => {
  const child = launch('standalone/main.ts', {
    DATA_DIR: folderOfThisTest('settings'),
    GATEWAY_PORT: 'eighty',
    CABINET_PORT: '',
  })
  const errors = text(child.stderr)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(await errors).toMatch(
    /^\s*Invalid settings for npm start:\n +GATEWAY_PORT: must be a port number [^\n]+\n$/,
  )
})

/** User id that a process runs as. */
function userOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Addresses at which a process listens; IPv6 ones other than loopback as the kernel writes them. */
function listeningOf(pid: number): readonly string[] {
  const files = isRunning({ pid }) ? readdirSync(`/proc/${pid}/fd`) : [] // one that a server started for a moment
  const sockets = files.map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return '' // closed in the meantime
    }
  })
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && sockets.includes(`socket:[${inode}]`))
      .map(([, local = '']) => plainAddress(local.split(':')[0] ?? '')),
  )
}

function plainAddress(hex: string): string {
  if (hex === '00000000000000000000000001000000') return '::1'
  if (hex.length !== 8) return hex
  return Buffer.from(hex, 'hex').reverse().join('.')
}

test('reset does not touch a folder that npm start did not make', async () => {
  const child = launch('standalone/reset.ts', { DATA_DIR: folderOfThisTest('not-ours') })
  expect(await once(child, 'exit')).toEqual([1, null])
})
