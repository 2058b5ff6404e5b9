import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createOrganization } from '#core/organizations/organization-store'
import { databaseOfThisFile } from '../support/postgres.ts'
import { runEntry } from '../support/run-entry.ts'
import { inTestScope } from '../support/scope.ts'

const { pool, url } = await databaseOfThisFile()

const command = (...args: readonly string[]) =>
  runEntry('worker/lanes/main.ts', { DATABASE_URL: url }, { args })

test('npm run lanes gives an organization more lanes, shows how many it has, and refuses fewer', async () => {
  const name = `org-${randomUUID()}`
  await inTestScope(pool, (client) => createOrganization(client, name))
  const said = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await command(name, ...args)
    return [code, stdout, stderr]
  }
  expect(await said()).toEqual([0, `Organization ${name} has 1 lane.\n`, ''])
  expect(await said('4')).toEqual([0, `Organization ${name} now has 4 lanes; it had 1.\n`, ''])
  expect(await said('4')).toEqual([0, `Organization ${name} already has 4 lanes.\n`, ''])
  expect(await said('3')).toEqual([
    1,
    '',
    `Organization ${name} has 4 lanes. It cannot have fewer: each lane has entries of the ledger.\n`,
  ])
  expect(await said()).toEqual([0, `Organization ${name} has 4 lanes.\n`, ''])
  const { rows } = await pool.query(
    "select actor_id, after from audit_log where action = 'organization.lanes'",
  )
  expect(rows).toEqual([{ actor_id: 'npm run lanes', after: { lanes: 4 } }])
})

test.each([['17'], ['0'], ['2.5'], ['many'], ['']])('npm run lanes rejects %j lanes', async (count) => {
  expect(await command('acme', count)).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'Usage: npm run lanes -- NAME [COUNT]\nNAME is the name of an organization, COUNT a whole number from 1 to 16.\n',
  })
})

test('npm run lanes names an organization that does not exist', async () => {
  expect(await command('nowhere', '2')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Organization nowhere not found. Check the name.\n',
  })
})
