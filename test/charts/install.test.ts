import { describe, expect, test, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { ownClusterOfThisFile } from '../support/cluster.ts'
import { isSlowRun } from '../support/environment.ts'
import { chartFolder, findHelm, helm, helmMajor, helmOk } from '../support/helm.ts'
import { releaseFinalizers } from '../support/release-command.ts'

/** Helm 4 asks the API server for every kind's schema: on a busy machine a command takes 10 s. */
const timeout = 240_000
const judgesTakeEffect = { timeout: 30_000, interval: 500 }

const cluster = await ownClusterOfThisFile({ deploy: 'bare' })
const program = await findHelm()

// No kubelet: objects are there, and no pod runs. What pods do is the end-to-end test's.
describe(`Helm ${helmMajor}`, { timeout }, () => {
  const as = { kubeconfig: cluster.kubeconfigPath }
  const demo = ['--set', 'demo.enabled=true']
  const inNamespace = (name: string) => ['--namespace', name]
  const names = async (kind: string, namespace: string) =>
    (await cluster.kubectlOk(['-n', namespace, 'get', kind, '-o', 'name'])).trim().split('\n').filter(Boolean)
  const images = async (namespace: string) =>
    cluster.kubectlOk([...inNamespace(namespace), 'get', 'deployments', '-o', 'jsonpath={..image}'])

  test('installs, upgrades, rolls back, and leaves nothing but CRDs behind', async () => {
    const namespace = await cluster.createNamespace()
    const here = inNamespace(namespace)
    await helmOk(program, ['install', 'mg', chartFolder, ...here, ...demo], as)
    expect(await names('deployments', namespace)).toEqual(
      [
        'administration',
        'cabinet',
        'gateway',
        'operator',
        'receiver',
        'trial-demo',
        'trial-services',
        'worker',
      ].map((component) => `deployment.apps/mg-model-gateway-${component}`),
    )
    const jobsBefore = await names('jobs', namespace)
    expect(jobsBefore.length).toBe(4)

    await helmOk(program, ['upgrade', 'mg', chartFolder, ...here, ...demo], as)
    expect(await names('jobs', namespace)).toEqual(jobsBefore)
    await helmOk(program, ['upgrade', 'mg', chartFolder, ...here, ...demo, '--set', 'image.tag=next'], as)
    expect(await images(namespace)).toContain('model-gateway:next')
    const jobsAfter = await names('jobs', namespace)
    expect(jobsAfter.length).toBe(4)
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

  test.runIf(isSlowRun)(
    'a change to an autoscaler, and whatever it does, keeps the number of gateways',
    async () => {
      const namespace = await cluster.createNamespace()
      const here = inNamespace(namespace)
      const gateway = 'deployment/mg-model-gateway-gateway'
      const scale = (to: number) => cluster.kubectlOk([...here, 'scale', gateway, `--replicas=${to}`])
      const replicas = () => cluster.kubectlOk([...here, 'get', gateway, '-o', 'jsonpath={.spec.replicas}'])
      const put = (...args: readonly string[]) =>
        helmOk(program, ['upgrade', '--install', 'mg', chartFolder, ...here, ...demo, ...args], as)
      const autoscaled = [
        '--set',
        'crds.install=false,operator.enabled=false,gateway.autoscaling.enabled=true',
      ]
      const byHand = ['--set', 'crds.install=false,operator.enabled=false']

      await put(...byHand)
      await scale(5)
      await put(...autoscaled)
      expect(await replicas()).toBe('5')
      await scale(7)
      await put(...autoscaled, '--set', 'image.tag=next')
      expect(await replicas()).toBe('7')
      await helmOk(program, ['uninstall', 'mg', ...here, '--no-hooks'], as)

      // A release that always had an autoscaler has no number that a rollback could bring back.
      await put(...autoscaled)
      await scale(4)
      await put(...autoscaled, '--set', 'image.tag=next')
      await helmOk(program, ['rollback', 'mg', '1', ...here], as)
      expect(await replicas()).toBe('4')
      await helmOk(program, ['uninstall', 'mg', ...here, '--no-hooks'], as)
    },
  )

  test.runIf(isSlowRun)(
    'an upgrade without the secrets that a Job made is rejected with what to do',
    async () => {
      const namespace = await cluster.createNamespace()
      const here = inNamespace(namespace)
      const args = [chartFolder, ...here, ...demo, '--set', 'crds.install=false,operator.enabled=false']
      await helmOk(program, ['install', 'mg', ...args], as)
      // The first attempt may have failed before any were made.
      await helmOk(program, ['upgrade', 'mg', ...args], as)

      const [job = ''] = (await names('jobs', namespace)).filter((name) => name.includes('make-secrets'))
      const now = new Date().toISOString()
      const condition = (type: string) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
        lastProbeTime: now,
      })
      const conditions = [condition('SuccessCriteriaMet'), condition('Complete')]
      const status = {
        succeeded: 1,
        startTime: now,
        completionTime: now,
        conditions,
        uncountedTerminatedPods: {},
      }
      const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]
      await cluster.kubectlOk([...here, 'patch', job, ...patch])
      const refused = await helm(program, ['upgrade', 'mg', ...args], as)
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toContain(
        `Secret ${namespace}/mg-model-gateway-secrets is lost: Job ${job.split('/')[1]} made it, and it is not there. Restore it from your copy (kubectl apply -f model-gateway-secrets.yaml)`,
      )
      await cluster.kubectlOk([...here, 'create', 'secret', 'generic', 'mg-model-gateway-secrets'])
      await helmOk(program, ['upgrade', 'mg', ...args], as)
      await helmOk(program, ['uninstall', 'mg', ...here, '--no-hooks'], as)
    },
  )

  test('a second release shares nothing with the first, and deleting one leaves the other whole', async () => {
    const [one, two] = [await releaseOf('one'), await releaseOf('two')]
    await helmOk(program, [...one.install, '--take-ownership'], as)
    const before = await wholeOf(one)
    const refused = await helm(program, two.install, as)
    expect(refused.stderr).toMatch(/\w+\.modelgateway\.dev.*(?:invalid ownership|cannot be imported)/s)
    await helmOk(program, [...two.install, '--set', 'crds.install=false'], as)

    for (const release of [one, two]) {
      await vi.waitFor(
        async () => expect(await judgesOf(release.team)).toEqual([release.judge]),
        judgesTakeEffect,
      )
      const mirrored = await cluster.kubectl(...mirrorBy(release))
      expect(mirrored).toMatchObject({ code: 0, stderr: '' })
    }
    await cluster.kubectlOk(['label', 'namespace', one.team, two.team, 'modelgateway.dev/organization=acme'])
    for (const { team } of [one, two]) await cluster.kubectlOk(['create', '-f', '-'], heldKeyIn(team))
    const surroundings = { user: cluster, namespace: two.namespace }
    const released = await releaseFinalizers(surroundings, ...(await argumentsOfRelease(two)))
    expect(released.stdout).toContain('off 1 of 1 ApiKeys')
    expect(await finalizersIn(one.team)).toContain('modelgateway.dev/revoke')
    expect(await finalizersIn(two.team)).not.toContain('modelgateway.dev/revoke')

    await helmOk(program, ['uninstall', 'two', ...inNamespace(two.namespace), '--no-hooks'], as)
    expect(await wholeOf(one)).toBe(before)
    await cluster.kubectlOk(['label', 'namespace', one.team, 'modelgateway.dev/organization-'])
    expect(await judgesOf(one.team)).toEqual([one.judge])
    await helmOk(program, ['uninstall', 'one', ...inNamespace(one.namespace), '--no-hooks'], as)
  })

  test('a release whose namespaces another one manages is rejected in one sentence with the value to set', async () => {
    const [one, two] = [await releaseOf('one'), await releaseOf('two')]
    const both = `release one in namespace ${one.namespace}`
    const isRefused = async (args: readonly string[], sentence: string) => {
      const { code, stderr } = await helm(program, args, as)
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining(sentence)])
    }
    await helmOk(program, [...one.install, '--take-ownership'], as)
    const bare = ['install', 'two', chartFolder, ...inNamespace(two.namespace), ...demo]
    await isRefused(bare, `operator.namespaces is not set, but ${both} is in this cluster, too. Set it to`)
    await isRefused(
      [...bare, '--set', `operator.namespaces={${two.team}},operator.routes.namespaces={${one.team}}`],
      `Namespace ${one.team} belongs to ${both}. Leave it out of`,
    )
    // The same release again is no other one.
    const all = ['upgrade', 'one', chartFolder, ...inNamespace(one.namespace), ...demo]
    await helmOk(program, all, as)
    await isRefused(two.install, `${both} manages all namespaces. Upgrade that one first`)
    await helmOk(program, ['uninstall', 'one', ...inNamespace(one.namespace), '--no-hooks'], as)
  })

  type Release = Awaited<ReturnType<typeof releaseOf>>
  /** A release that manages one team's namespace besides its own. */
  async function releaseOf(name: string) {
    const [namespace, team] = [await cluster.createNamespace(), await cluster.createNamespace()]
    const scope = ['--set', `operator.namespaces={${team}}`]
    return {
      namespace,
      team,
      install: ['install', name, chartFolder, ...inNamespace(namespace), ...demo, ...scope],
      operator: `system:serviceaccount:${namespace}:${name}-model-gateway-operator`,
      judge: `${namespace}-${name}-model-gateway-organization`,
    }
  }

  function wholeOf({ namespace }: Release): Promise<string> {
    const kinds =
      'deployments,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,crds'
    return cluster.kubectlOk(['get', kinds, '-n', namespace, '-o', 'name'])
  }

  /** The policies that deny an ApiKey in a namespace that may spend no organization's money. */
  async function judgesOf(namespace: string): Promise<readonly string[]> {
    const key = {
      apiVersion,
      kind: 'ApiKey',
      metadata: { name: 'x', namespace },
      spec: { organization: 'acme' },
    }
    const { stderr } = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(key))
    return [...stderr.matchAll(/ValidatingAdmissionPolicy '([^']+)'/g)].map(([, name = '']) => name)
  }

  /** What an operator does for a key of the cabinet. */
  function mirrorBy({ namespace, operator }: Release): [args: readonly string[], input: string] {
    const metadata = { name: 'key-1', namespace, labels: { 'modelgateway.dev/managed-by': 'cabinet' } }
    const key = { apiVersion, kind: 'ApiKey', metadata, spec: { organization: 'acme' } }
    return [['create', '--dry-run=server', `--as=${operator}`, '-f', '-'], JSON.stringify(key)]
  }

  function heldKeyIn(namespace: string): string {
    const metadata = { name: 'held', namespace, finalizers: ['modelgateway.dev/revoke'] }
    return JSON.stringify({ apiVersion, kind: 'ApiKey', metadata, spec: { organization: 'acme' } })
  }

  function finalizersIn(namespace: string): Promise<string> {
    return cluster.kubectlOk([
      '-n',
      namespace,
      'get',
      'apikey',
      'held',
      '-o',
      'jsonpath={.metadata.finalizers}',
    ])
  }

  /** The arguments of the Job that runs before an uninstallation. */
  async function argumentsOfRelease({ namespace }: Release): Promise<readonly string[]> {
    const hooks = await helmOk(program, ['get', 'hooks', 'two', ...inNamespace(namespace)], as)
    const [, list = '[]'] = /args: (\["operator\/release-finalizers.*\])/.exec(hooks) ?? []
    return (JSON.parse(list) as string[]).slice(1)
  }
})
