import { expect, onTestFinished, test, vi } from 'vitest'
import { migrate } from '#core/db/migrate'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { leases } from '#operator/runtime/resources'
import { clusterOfThisFile } from '../support/cluster.ts'
import { createOlderDatabase, migrationNames } from '../support/older-database.ts'
import { operatorsOfThisFile } from '../support/operator.ts'

const cluster = await clusterOfThisFile()
const operators = operatorsOfThisFile()

test('an operator names the migration that it waits for and leaves the Lease to others; migrated, it leads', async () => {
  const database = await createOlderDatabase(migrationNames.length - 1)
  const namespace = await cluster.createNamespace()
  const client = createClusterClient(cluster.kubeConfig)
  const lines: string[] = []
  const operator = await operators.start({ cluster, databaseUrl: database.url, namespace }, {}, (line) =>
    lines.push(line),
  )
  onTestFinished(async () => {
    await operator.kill()
    await client.close()
    await database[Symbol.asyncDispose]()
  })
  const readiness = async () => (await fetch(`${operator.adminUrl}/readyz`)).text()
  const lease = () => client.find(leases, { namespace, name: 'model-gateway-operator' })
  await vi.waitFor(async () =>
    expect(await readiness()).toBe(`waiting for migration ${migrationNames.at(-1)}\n`),
  )
  expect(await lease()).toBeUndefined()
  await migrate(database.pool)
  await vi.waitFor(async () => expect(await readiness()).toBe('ok\n'), { timeout: 10_000 })
  await vi.waitFor(async () => expect((await lease())?.spec).toMatchObject({ leaseTransitions: 0 }))
  expect(lines.filter((line) => line.includes('waiting for migration'))).toHaveLength(1)
})
