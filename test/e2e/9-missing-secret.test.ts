import { afterAll, expect, test } from 'vitest'
import { chartFolder, findHelm, helmOk } from '../support/helm.ts'
import { kubectlOk } from './kubernetes.ts'
import { eventually } from './release.ts'
import { kubeconfig, valuesFiles } from './settings.ts'

const namespace = 'mg-e2e-incomplete'
afterAll(() => kubectlOk(['delete', 'namespace', namespace, '--ignore-not-found', '--wait']))

test('a Secret that is missing, and a key that it lacks, are named in the status of the pod', async () => {
  const settings = [
    'crds.install=false',
    'operator.enabled=false',
    'demo.enabled=false',
    'ingress.enabled=false',
  ]
  const stores = [
    'database.host=db.invalid',
    'database.owner.existingSecret=owner',
    'redis.url.existingSecret=redis-url',
  ]
  await helmOk(
    await findHelm(undefined, 3),
    [
      'install',
      'incomplete',
      chartFolder,
      '--namespace',
      namespace,
      '--create-namespace',
      '--values',
      valuesFiles,
      ...[...settings, ...stores].flatMap((setting) => ['--set', setting]),
    ],
    { kubeconfig },
  )
  const waiting = async () =>
    kubectlOk([
      '-n',
      namespace,
      'get',
      'pods',
      '-o',
      'jsonpath={.items[*].status.containerStatuses[*].state.waiting.message}',
    ])
  await eventually(async () => expect(await waiting()).toContain('secret "redis-url" not found'), 120_000)
  await kubectlOk(['-n', namespace, 'create', 'secret', 'generic', 'redis-url', '--from-literal=other=text'])
  await eventually(
    async () => expect(await waiting()).toMatch(/couldn't find key url in Secret .*redis-url/),
    120_000,
  )
})
