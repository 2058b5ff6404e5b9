import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findRedisServer, startRedis } from '#standalone/redis'
import { inheritedEnvironment } from '../support/environment.ts'

test('what was written survives stop and start', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'mg-redis-test-'))
  onTestFinished(() => rm(dataDir, { recursive: true }))
  const redis = await startRedis({ dataDir })
  onTestFinished(() => redis[Symbol.asyncDispose]())
  const client = new Redis(redis.url)
  onTestFinished(() => client.disconnect())
  await client.set('kept', 'yes')
  await redis.stop()
  expect(redis.pid()).toBeUndefined()
  await redis.start()
  expect(await client.get('kept')).toBe('yes')
  expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
})

test('a busy port is reported, with the port', async () => {
  const first = await startRedis({ appendonly: 'no' })
  onTestFinished(() => first[Symbol.asyncDispose]())
  await expect(startRedis({ appendonly: 'no', port: first.port })).rejects.toThrow(
    new RegExp(`did not start on port ${first.port}[^]*in use`, 'i'),
  )
})

test('the server found is a Redis or Valkey of version 7 or newer', async () => {
  expect(await findRedisServer()).toMatch(/(redis|valkey)-server$/)
})

test('a server goes when the process that started it is killed: no second one meets its files', async () => {
  const program = `
    const { startRedis } = await import('#standalone/redis')
    console.log((await startRedis({ appendonly: 'no' })).pid())
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: inheritedEnvironment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  process.kill(Number(line), 0)
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(() => process.kill(Number(line), 0)).toThrow('ESRCH'), { timeout: 10_000 })
})
