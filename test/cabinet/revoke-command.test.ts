import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { revoke } from '../support/revoke.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const { pool, url } = stack.database
const command = (...args: readonly string[]) => revoke(url, ...args)

test('npm run revoke ends a key, reports when every gateway rejects it, and reports the same again', async () => {
  const [gateway] = await Promise.all([stack.startGateway(), stack.startWorker()])
  const { key, keyId } = await stack.createCustomer()
  const status = async () =>
    (await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } })).status
  await vi.waitFor(async () => expect(await status()).toBe(200), { timeout: 20_000 })
  const { stdout } = await command(keyId)
  expect(stdout).toMatch(
    new RegExp(`^Revoked the key ${keyId} \\(".*" of organization .*\\): every gateway rejects it\\.\\n$`),
  )
  expect(await status()).toBe(401)
  expect((await readKeyState(pool, keyId))?.revoked).toBe(true)
  expect((await command(keyId)).stdout).toContain('was already revoked')
  const { rows } = await pool.query(
    "select actor_kind, actor_id from audit_log where action = 'key.revoke' and subject_id = $1",
    [keyId],
  )
  expect(rows).toEqual([{ actor_kind: 'command', actor_id: 'npm run revoke' }])
})

test('npm run revoke reports invalid arguments', async () => {
  await expect(command('ci')).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('Usage:') })
  const keyId = randomUUID()
  await expect(command(keyId)).rejects.toMatchObject({
    code: 1,
    stdout: `Key ${keyId} not found. Check the key ID.\n`,
  })
})
