import { expect, test, vi } from 'vitest'
import { ownClusterOfThisFile } from '../support/cluster.ts'
import { chartFolder, findHelm, helm, helmOk } from '../support/helm.ts'

// With the cluster's own controllers, and no node: no image ever runs.
const cluster = await ownClusterOfThisFile({ deploy: 'bare', controllers: 'running' })
const program = await findHelm()
const as = { kubeconfig: cluster.kubeconfigPath }
const image = 'ghcr.io/model-gateway/model-gateway:0.1.0'
const operatorLease = 'mg-model-gateway-operator'
const takesEffect = { timeout: 60_000, interval: 500 }
/** Helm 4 asks the API server for every kind's schema: on a busy machine a command takes 10 s. */
const timeout = 240_000

test('a release whose image never ran is uninstalled with its hooks, and without the image', {
  timeout,
}, async () => {
  const here = ['--namespace', await cluster.createNamespace()]
  await helmOk(program, ['install', 'mg', chartFolder, ...here, '--set', 'demo.enabled=true'], as)
  const hooks = (await helmOk(program, ['get', 'hooks', 'mg', ...here], as)).split(/^---$/m)
  const job = hooks.find((text) => text.includes('kind: Job')) ?? ''
  /** How many pods of such a Job have to succeed. */
  const completionsOf = (text: string) => {
    const dryRun = ['create', '--dry-run=server', '-o', 'jsonpath={.spec.completions}', '-f', '-']
    return cluster.kubectlOk([...here, ...dryRun], text)
  }
  expect(await completionsOf(job)).toBe('0')

  // What an operator writes before it adds its first finalizer.
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: operatorLease } }
  await cluster.kubectlOk([...here, 'create', '-f', '-'], JSON.stringify(lease))
  await vi.waitFor(async () => expect(await completionsOf(job)).toBe('1'), takesEffect)
  expect(await completionsOf(job.replace(/name: mg-.*-release-finalizers$/m, 'name: of-others'))).toBe('0')

  await cluster.kubectlOk([...here, 'delete', 'lease', operatorLease])
  await vi.waitFor(async () => expect(await completionsOf(job)).toBe('0'), takesEffect)
  await helmOk(program, ['uninstall', 'mg', ...here], as)
  expect((await helm(program, ['status', 'mg', ...here], as)).stderr).toContain('not found')
  expect(await cluster.kubectlOk([...here, 'get', 'jobs,deployments', '-o', 'name'])).toBe('')
})

test('what cannot work in this cluster is rejected before anything is installed', { timeout }, async () => {
  const here = ['--namespace', await cluster.createNamespace(), '--dry-run=server']
  const rejection = async (...values: readonly string[]) => {
    const set = ['demo.enabled=true', ...values].flatMap((value) => ['--set', value])
    return (await helm(program, ['install', 'mg', chartFolder, ...here, ...set], as)).stderr
  }
  expect(await rejection()).not.toContain('No node has')
  await cluster.kubectlOk(
    ['create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } }),
  )
  const unbuilt = `No node has the image ${image}, and this chart is not a published one`
  expect(await rejection()).toContain(unbuilt)
  for (const chosen of ['tag=0.1.0', 'repository=example.com/gateway', `digest=sha256:${'0'.repeat(64)}`])
    expect(await rejection(`image.${chosen}`)).not.toContain('No node has')
  const status = { images: [{ names: ['example.com/other:1'] }, { names: [image] }] }
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]
  await cluster.kubectlOk(['patch', 'node', 'node1', ...patch])
  expect(await rejection()).not.toContain('No node has')

  const ofService = ['-n', 'default', 'get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}']
  const address = await cluster.kubectlOk(ofService)
  const missing = `demo.podCidrs does not include the network of Services, which has ${address} here`
  expect(await rejection('demo.podCidrs={203.0.113.0/24,fd00::/8}')).toContain(missing)
  expect(await rejection(`demo.podCidrs={203.0.113.0/24,${address}/31}`)).not.toContain('demo.podCidrs')
})
