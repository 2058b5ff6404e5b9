import { describe, expect, test } from 'vitest'
import { clusterOfThisFile } from '../support/cluster.ts'
import { chartFolder, findHelm, helm, helmOk } from '../support/helm.ts'

/** Helm 4 asks the API server for every kind's schema: on a busy machine a command takes 10 s. */
const timeout = 240_000

// One each: a CRD that was kept belongs to whoever installed it.
const clusterOfHelm3 = await clusterOfThisFile({ deploy: 'bare' })
const clusterOfHelm4 = await clusterOfThisFile({ deploy: 'bare' })
const helms = [
  { major: 3, program: await findHelm(3), cluster: clusterOfHelm3 },
  { major: 4, program: await findHelm(4), cluster: clusterOfHelm4 },
]

// No kubelet: objects are there, and no pod runs. What pods do is the end-to-end test's.
describe.each(helms)('Helm $major', { timeout }, ({ program, cluster }) => {
  const as = { kubeconfig: cluster.kubeconfigPath }
  const trial = ['--set', 'trial.enabled=true']
  const inNamespace = (name: string) => ['--namespace', name]
  const names = async (kind: string, namespace: string) =>
    (await cluster.kubectlOk(['-n', namespace, 'get', kind, '-o', 'name'])).trim().split('\n').filter(Boolean)
  const images = async (namespace: string) =>
    cluster.kubectlOk([...inNamespace(namespace), 'get', 'deployments', '-o', 'jsonpath={..image}'])

  test('installs, upgrades, rolls back, and leaves nothing but CRDs behind', async () => {
    const namespace = await cluster.createNamespace()
    const here = inNamespace(namespace)
    await helmOk(program, ['install', 'mg', chartFolder, ...here, ...trial], as)
    expect(await names('deployments', namespace)).toEqual(
      ['cabinet', 'gateway', 'operator', 'receiver', 'trial-demo', 'worker'].map(
        (component) => `deployment.apps/mg-model-gateway-${component}`,
      ),
    )
    const jobsBefore = await names('jobs', namespace)
    expect(jobsBefore.length).toBe(3)

    await helmOk(program, ['upgrade', 'mg', chartFolder, ...here, ...trial], as)
    expect(await names('jobs', namespace)).toEqual(jobsBefore)
    await helmOk(program, ['upgrade', 'mg', chartFolder, ...here, ...trial, '--set', 'image.tag=next'], as)
    expect(await images(namespace)).toContain('model-gateway:next')
    const jobsAfter = await names('jobs', namespace)
    expect(jobsAfter.length).toBe(3)
    expect(jobsAfter.filter((job) => jobsBefore.includes(job))).toEqual([])

    await helmOk(program, ['rollback', 'mg', '1', ...here], as)
    expect(await images(namespace)).not.toContain('model-gateway:next')
    expect(await names('jobs', namespace)).toEqual(jobsBefore)

    await helmOk(program, ['uninstall', 'mg', ...here, '--no-hooks'], as)
    for (const kind of ['deployments', 'services', 'jobs', 'serviceaccounts', 'roles', 'networkpolicies'])
      expect([kind, await names(kind, namespace)]).toEqual([kind, []])
    expect(await names('clusterroles', namespace)).not.toContainEqual(
      expect.stringContaining('mg-model-gateway'),
    )
    expect(await names('crds', namespace)).toContain(
      'customresourcedefinition.apiextensions.k8s.io/apikeys.modelgateway.dev',
    )
  })

  test('installs a second release that shares nothing with the first, and deleting one leaves the other whole', async () => {
    const [first, second] = [await cluster.createNamespace(), await cluster.createNamespace()]
    await helmOk(
      program,
      ['install', 'one', chartFolder, ...inNamespace(first), ...trial, '--take-ownership'],
      as,
    )
    const before = await cluster.kubectlOk([
      'get',
      'deployments,validatingadmissionpolicies,clusterroles',
      '-n',
      first,
      '-o',
      'name',
    ])
    const refused = await helm(program, ['install', 'two', chartFolder, ...inNamespace(second), ...trial], as)
    expect(refused.stderr).toMatch(/apikeys\.modelgateway\.dev.*(?:invalid ownership|cannot be imported)/s)
    const args = [...inNamespace(second), ...trial, '--set', 'crds.install=false']
    await helmOk(program, ['install', 'two', chartFolder, ...args], as)
    await helmOk(program, ['uninstall', 'two', ...inNamespace(second), '--no-hooks'], as)
    expect(
      await cluster.kubectlOk([
        'get',
        'deployments,validatingadmissionpolicies,clusterroles',
        '-n',
        first,
        '-o',
        'name',
      ]),
    ).toBe(before)
    await helmOk(program, ['uninstall', 'one', ...inNamespace(first), '--no-hooks'], as)
  })
})
