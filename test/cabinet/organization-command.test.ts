import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readBalance } from '#core/ledger/balance'
import { findOrganization } from '#core/organizations/organization-store'
import { inheritedEnvironment } from '../support/environment.ts'
import { databaseOfThisFile } from '../support/postgres.ts'

const { pool, url } = await databaseOfThisFile()
const run = promisify(execFile)

function command(...args: readonly string[]) {
  const root = join(import.meta.dirname, '..', '..')
  const env = { ...inheritedEnvironment, DATABASE_URL: url }
  return run(process.execPath, ['core/organizations/main.ts', ...args], { cwd: root, env })
}

test('npm run organization makes one with its balance, once, however often it is asked', async () => {
  const name = `org-${randomUUID()}`
  expect((await command(name, '1000.50')).stdout).toContain(`Created organization ${name}`)
  expect((await command(name, '7')).stdout).toContain('already exists; its balance was not changed')
  const { id = '' } = (await findOrganization(pool, name)) ?? {}
  expect(await readBalance(pool, id)).toBe(1_000_500_000_000n)
})

test('money given manually is an adjustment: only a confirmed address earns a trial', async () => {
  const name = `org-${randomUUID()}`
  await command(name, '3')
  const { rows } = await pool.query(
    'select l.kind, l.amount from balance_ledger l join organizations o on o.id = l.organization_id where o.name = $1',
    [name],
  )
  expect(rows).toEqual([{ kind: 'adjustment', amount: 3_000_000_000n }])
})

test('npm run organization reports invalid arguments, and creates nothing', async () => {
  const name = `org-${randomUUID()}`
  await expect(command(name, 'lots')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('RUBLES must be an amount in rubles'),
  })
  await expect(command('Acme Inc.')).rejects.toMatchObject({
    stderr: expect.stringContaining('NAME must be'),
  })
  expect(await findOrganization(pool, name)).toBeUndefined()
})
