import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chartFolder, findHelm, helmOk } from '../support/helm.ts'
import { kubectl, kubectlOk } from './kubernetes.ts'
import { apply, eventually, removeEverything } from './release.ts'
import { figure, since } from './results.ts'
import { kubeconfig, valuesFiles } from './settings.ts'

// A demo where there is little room, and installations that cannot succeed.
const namespace = 'mg-e2e-small'
const chosenUser = 1_000_650_000
/** A user that every image has. */
const knownUser = 65_534
const here = ['--namespace', namespace]
const storageClasses = ['get', 'storageclass', '-o', 'jsonpath={.items[*].metadata.name}'] as const
const defaultClass = 'storageclass.kubernetes.io/is-default-class'

beforeAll(removeEverything)
afterAll(removeNamespaces)

async function helmIn(...args: readonly string[]): Promise<string> {
  return helmOk(await findHelm(undefined, 3), [...args, ...here], { kubeconfig, timeoutMs: 400_000 })
}

/** A demo whose kinds go with it. */
function install(name: string, values: readonly string[], ...more: readonly string[]): Promise<string> {
  const set = ['ingress.enabled=false', 'crds.keep=false', ...values].flatMap((value) => ['--set', value])
  return helmIn('install', name, chartFolder, '--values', valuesFiles, ...set, ...more)
}

/** What Kubernetes reports of the pods that do not run, and of those that it does not create. */
async function complaints(): Promise<string> {
  const events = ['get', 'events', '-o', 'jsonpath={.items[*].message}']
  return kubectlOk(['-n', namespace, ...events])
}

/** Ends what a test left, also of one that failed: the release's namespace, and those that its demo made. */
async function removeNamespaces(): Promise<void> {
  const all = (await kubectlOk(['get', 'namespaces', '-o', 'name'])).split('\n')
  const ours = all.filter((name) => name.startsWith(`namespace/${namespace}`))
  // A namespace with a pod that is ending is looked at again after half of that pod's grace.
  const owners = 'deployments,statefulsets,jobs'
  await kubectlOk(['-n', namespace, 'delete', owners, '--all', '--wait', '--cascade=foreground'])
  if (ours.length > 0) await kubectlOk(['delete', '--wait', ...ours])
}

async function cleanNamespace(): Promise<void> {
  await removeNamespaces()
  await kubectlOk(['create', 'namespace', namespace])
}

describe('an installation that cannot succeed is uninstalled with its hooks', () => {
  test.each([
    ['its image is missing', ['image.tag=missing'], {}, /missing.*(?:not found|failed to)/s],
    ['a quota admits three pods', [], { pods: '3' }, /exceeded quota/],
    ['the image of its Postgres is missing', ['demo.postgres.image=hk.local/none:1'], {}, /hk\.local\/none/],
    ['a setting is wrong', ['operator.env.OPERATOR_MIRROR_KEYS=perhaps'], {}, /Back-off restarting|BackOff/],
  ])('because %s', async (_why, values, quota, complaint) => {
    await cleanNamespace()
    const hard = Object.entries(quota).map(([name, most]) => `--hard=${name}=${most}`)
    if (hard.length > 0) await kubectlOk(['-n', namespace, 'create', 'quota', 'small', ...hard])
    await install('mg', values)
    await eventually(async () => expect(await complaints()).toMatch(complaint), 150_000)
    const startMs = performance.now()
    await helmIn('uninstall', 'mg')
    figure(`uninstall because ${_why}`, since(startMs))
  })

  test('because there is no storage class', async () => {
    await cleanNamespace()
    const [name = ''] = (await kubectlOk(storageClasses)).split(' ')
    const mark = (value: string) => kubectl(['annotate', '--overwrite', 'storageclass', name, value])
    await mark(`${defaultClass}=false`)
    try {
      await install('mg', [])
      await eventually(async () => expect(await complaints()).toMatch(/no storage class is set/), 150_000)
      const startMs = performance.now()
      await helmIn('uninstall', 'mg')
      figure('uninstall because there is no storage class', since(startMs))
    } finally {
      await mark(`${defaultClass}=true`)
    }
  })
})

test('a demo with the longest name works within 600m and 1 GiB, as the user that a policy chooses', async () => {
  await cleanNamespace()
  const restricted = 'pod-security.kubernetes.io/enforce=restricted'
  await kubectlOk(['label', 'namespace', namespace, restricted])
  const most = '--hard=requests.cpu=600m,requests.memory=1Gi'
  await kubectlOk(['-n', namespace, 'create', 'quota', 'small', most])
  await apply(...chosenUsers(namespace))
  const name = 'a-release-with-a-long-name-'.repeat(2).slice(0, 53)
  const ids = ['runAsUser', 'runAsGroup', 'fsGroup'].map((id) => `podDefaults.securityContext.${id}=null`)
  const small = ['gateway', 'cabinet', 'administration', 'webhook', 'worker', 'operator'].flatMap(
    (process) => [`demo.processes.${process}.replicas=1`, `${process}.resources=null`],
  )
  const startMs = performance.now()
  // The values of the chart: `null` would leave none, which the quota rejects.
  const redis = ['cpu=50m', 'memory=32Mi'].map((request) => `demo.redis.resources.requests.${request}`)
  await install(name, [...ids, ...small, ...redis], '--wait', '--timeout', '5m')
  figure('demo of one replica each in a quota of 600m and 1 GiB', since(startMs))
  await helmIn('test', name)
  const users = await kubectlOk(['-n', namespace, 'get', 'pods', '-o', 'jsonpath={..runAsUser}'])
  expect(new Set(users.split(' '))).toEqual(new Set([chosenUser, knownUser].map(String)))
  await helmIn('uninstall', name, '--wait')
  await kubectlOk(['delete', 'mutatingadmissionpolicy,mutatingadmissionpolicybinding', 'e2e-chosen-users'])
})

/** As OpenShift does: pods that name no user get one of the namespace's range. Needs Kubernetes 1.36. */
function chosenUsers(inNamespace: string): readonly object[] {
  const group = 'admissionregistration.k8s.io'
  const metadata = { name: 'e2e-chosen-users' }
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] },
  ]
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': inNamespace } }
  // This cluster's Postgres has no nss_wrapper, as the official image has, and must find its user's name.
  const user = `object.metadata.labels['app.kubernetes.io/component'] == 'trial-postgres' ? ${knownUser} : ${chosenUser}`
  const context = `Object.spec.securityContext{runAsUser: ${user}, fsGroup: ${chosenUser}}`
  const expression = `Object{spec: Object.spec{securityContext: ${context}}}`
  return [
    {
      apiVersion: `${group}/v1`,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        reinvocationPolicy: 'Never',
        matchConstraints: { resourceRules, namespaceSelector },
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
      },
    },
    {
      apiVersion: `${group}/v1`,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name },
    },
  ]
}
