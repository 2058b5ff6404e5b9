import { expect, onTestFinished, test, vi } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import type { Process } from '../support/processes.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

// What becomes of providers and routes when the database is unavailable, or another operator writes to it.
const operators = operatorsOfThisFile()
const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, applyProvider, applyRoute, until } = catalog
/** Failed tries after which the next one is due in 10 s or more: 5 ms · 2¹¹. */
const failuresMin = 12
const quickLease = {
  OPERATOR_LEASE_MS: '3000',
  OPERATOR_RENEW_DEADLINE_MS: '2000',
  OPERATOR_RETRY_MS: '400',
}
const secondObserved = ['--for=jsonpath={.status.observedGeneration}=2', '--timeout=20s']

async function startOperator(databaseUrl = stack.database.url): Promise<Process> {
  const operator = await operators.start({ cluster, databaseUrl, namespace }, quickLease)
  onTestFinished(operator.stop)
  return operator
}

test('work that waited for the database is done within seconds of its return, after any outage', async () => {
  const direct = new URL(stack.database.url)
  const gate = await gateOfThisTest(Number(direct.port))
  const through = new URL(direct)
  through.host = `127.0.0.1:${gate.port}`
  const operator = await startOperator(through.href)
  const [provider, route] = [unique('p'), unique('r')]
  await applyProvider(provider)
  await until('modelprovider', provider, { Accepted: 'True/Accepted' })
  gate.shut()
  await applyProvider(provider, { limits: { requestsPerMinute: 5 } })
  await applyRoute(route, provider)
  for (const controller of ['ModelProvider', 'ModelRoute'])
    await vi.waitFor(
      async () => expect(await failureCount(operator, controller)).toBeGreaterThanOrEqual(failuresMin),
      { timeout: 30_000, interval: 200 },
    )
  gate.open()
  const backAtMs = performance.now()
  await cluster.kubectlOk(['-n', namespace, 'wait', `modelprovider/${provider}`, ...secondObserved])
  await until('modelroute', route, { Accepted: 'True/Accepted' })
  expect(performance.now() - backAtMs).toBeLessThan(5_000)
}, 60_000)

test.each(['ModelProvider', 'ModelRoute'])(
  'a leader that was overtaken ends at its first write, though it has nothing but a %s to write',
  async (kind) => {
    const operator = await startOperator()
    const provider = unique('p')
    await applyProvider(provider)
    await until('modelprovider', provider, { Accepted: 'True/Accepted' })
    await stack.database.pool.query('update cluster_epochs set epoch = epoch + 1')
    if (kind === 'ModelProvider') await applyProvider(unique('p'))
    else await applyRoute(unique('r'), provider)
    await vi.waitFor(() => expect(operator.exitCode()).toBe(1), { timeout: 5_000 })
  },
  60_000,
)

/** Looks of a controller that failed. */
async function failureCount(operator: Process, controller: string): Promise<number> {
  const text = await (await fetch(`${operator.adminUrl}/metrics`)).text()
  const line = new RegExp(`reconcile_errors_total\\{controller="${controller}"\\} (\\d+)`).exec(text)
  return Number(line?.[1] ?? 0)
}
