import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { removeJournalProvider } from './journal.ts'
import { kubectlOk } from './kubernetes.ts'
import { leftInCluster } from './left-in-cluster.ts'
import {
  allowNamespace,
  createKey,
  eventually,
  fullname,
  helmHere,
  namespace,
  putRelease,
  releaseName,
} from './release.ts'

const model = 'demo/echo'
const hello = [{ role: 'user', content: 'Hello' } as const]

test('uninstall leaves secrets, disks, kinds and keys, and nothing else; install again opens the old keys', async () => {
  await putRelease()
  await removeJournalProvider()
  const team = await allowNamespace('kept-key', 'demo')
  const { key, baseUrl } = await createKey(team, 'kept')
  const ask = () =>
    new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0 }).chat.completions.create({
      model,
      messages: hello,
    })
  expect((await ask()).choices[0]?.message.content).toBe('Hello')
  const finalizersOf = () =>
    kubectlOk(['-n', team.namespace, 'get', 'apikey', 'kept', '-o', 'jsonpath={.metadata.finalizers}'])
  expect(await finalizersOf()).not.toBe('')

  await helmHere(['uninstall', releaseName, '--wait'])
  // What `helm test` leaves, by Helm's own rules.
  await kubectlOk(['-n', namespace, 'delete', 'pod', `${fullname}-test`, '--ignore-not-found'])
  await kubectlOk(['-n', namespace, 'wait', '--for=delete', 'pods', '--all', '--timeout=170s'])
  expect(await finalizersOf()).toBe('')
  expect(await leftInCluster({ release: releaseName, namespace }, /\.modelgateway\.dev$/)).toEqual([
    'customresourcedefinition.apiextensions.k8s.io/apikeys.modelgateway.dev',
    'customresourcedefinition.apiextensions.k8s.io/modelproviders.modelgateway.dev',
    'customresourcedefinition.apiextensions.k8s.io/modelroutes.modelgateway.dev',
    `persistentvolumeclaim/data-${fullname}-trial-postgres-0`,
    `persistentvolumeclaim/data-${fullname}-trial-redis-0`,
    `secret/${fullname}-secrets`,
  ])

  await putRelease()
  expect((await eventually(ask)).choices[0]?.message.content).toBe('Hello')
  await eventually(async () => expect(await finalizersOf()).not.toBe(''))
})
