import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createKey } from '#core/keys/key-store'
import { leases } from '#operator/runtime/resources'
import { keyClusterOfThisFile } from '../support/api-key-cluster.ts'
import { pepper } from '../support/customer.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { atPort, portOf } from './cluster-port.ts'

const operators = operatorsOfThisFile()
const { cluster, stack, client, createTeam } = await keyClusterOfThisFile()
/** So long that it does not end while the operator stops. */
const longLease = { OPERATOR_LEASE_MS: '60000', OPERATOR_RENEW_DEADLINE_MS: '40000' }
/** Below the grace period of any pod, and of a person at a terminal. */
const endMsMax = 10_000

async function workingCount({ adminUrl }: Process): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const counts = text.matchAll(/^controller_runtime_active_workers\{[^}]*\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

test('an operator whose API server no longer responds ends within 10 s, in the middle of its work', async () => {
  const { organizationId } = await createTeam()
  const namespace = await cluster.createNamespace()
  const gate = await gateOfThisTest(portOf(cluster.kubeConfig))
  const kubeconfigPath = join(folderOfThisTest('operator-end'), 'kubeconfig')
  await writeFile(kubeconfigPath, atPort(cluster.kubeConfig, gate.port).exportConfig())
  const operator = await operators.start(
    { cluster, databaseUrl: stack.database.url, namespace },
    { KUBECONFIG: kubeconfigPath, ...longLease },
  )
  await vi.waitFor(
    async () => {
      const held = await client.find(leases, { namespace, name: 'model-gateway-operator' })
      expect(held?.spec).toMatchObject({ holderIdentity: expect.stringMatching(/./) })
    },
    { timeout: 20_000 },
  )
  await vi.waitFor(async () => expect(await workingCount(operator)).toBe(0))
  gate.holdAnswers()
  await inTestScope(stack.database.pool, (scoped) =>
    createKey(scoped, { organizationId, name: randomUUID(), managedBy: 'cabinet' }, pepper),
  )
  await vi.waitFor(async () => expect(await workingCount(operator)).toBeGreaterThan(0))

  const stoppedAtMs = performance.now()
  await operator.stop()
  expect(performance.now() - stoppedAtMs).toBeLessThan(endMsMax)
  expect(operator.exitCode()).toBe(0)
}, 90_000)
