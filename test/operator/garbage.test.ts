import { beforeAll, describe, expect, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { ownKeyClusterOfThisFile, type Team, valuesOf } from '../support/api-key-cluster.ts'
import { deployed } from '../support/cluster.ts'
import { freshName, statusOf } from '../support/live-keys.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { controller, secret, secretsOf } from '../support/stolen-token.ts'

// With the shipped permissions, the admission plugin that OpenShift enables, and the cluster's own
// controllers, which delete objects without owners and end namespaces.
const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, settledStatus } = await ownKeyClusterOfThisFile({
  deploy: 'installed',
  controllers: 'running',
})
const { pool } = stack.database
const { namespace } = deployed
const logged: string[] = []
let gateway: Process
let operator: Process
let team: Team

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  const user = await cluster.addUser(deployed.operator)
  const surroundings = { cluster, databaseUrl: stack.database.url, namespace, user }
  operator = await operators.start(surroundings, {}, (line) => void logged.push(line))
  team = await createTeam('orphan')
})

async function createReady(spec: object = {}, of = team) {
  const name = freshName()
  await of.apply(name, spec)
  const { OPENAI_API_KEY: text = '' } = await of.readyValues(name)
  const keyId = statusOf(await of.find(name)).keyID ?? ''
  return { name, text, keyId }
}

const secretIsGone = (name: string) =>
  vi.waitFor(async () => expect(await team.secret(`${name}-apikey`)).toBeUndefined(), { timeout: 30_000 })

function kubectlDelete(name: string, ...options: readonly string[]): Promise<string> {
  return cluster.kubectlOk(['-n', team.namespace, 'delete', 'apikey', name, '--timeout=30s', ...options])
}

test('a Secret that a stolen token creates for an ApiKey that does not exist is collected', async () => {
  const user = await cluster.addUser(deployed.operator)
  const name = `${freshName()}-apikey`
  const ownerReferences = [controller({ name: 'nobody' })]
  const made = await user.request('POST', secretsOf(team.namespace), secret({ name, ownerReferences }))
  expect(made.status).toBe(201)
  await vi.waitFor(async () => expect(await team.secret(name)).toBeUndefined(), { timeout: 30_000 })
})

describe('kubectl delete of an ApiKey', () => {
  test.each(['background', 'foreground', 'orphan'])(
    'takes the key with it, and with it the Secret, with --cascade=%s',
    async (cascade) => {
      const { name, text } = await createReady()
      await kubectlDelete(name, `--cascade=${cascade}`)
      expect(await settledStatus(gateway, text)).toBe(401)
      if (cascade === 'orphan')
        expect(valuesOf(await team.secret(`${name}-apikey`)).OPENAI_API_KEY).toBe(text)
      else await secretIsGone(name)
    },
  )

  test('that has the policy Orphan leaves the key and the Secret to people', async () => {
    const { name, text, keyId } = await createReady({ deletionPolicy: 'Orphan' })
    await kubectlDelete(name)
    // The garbage collector works in order: once a later Secret is gone, this one has been spared.
    const later = await createReady()
    await kubectlDelete(later.name)
    await secretIsGone(later.name)
    const secret = await team.secret(`${name}-apikey`)
    expect(valuesOf(secret).OPENAI_API_KEY).toBe(text)
    expect(secret?.metadata.ownerReferences ?? []).toEqual([])
    expect(await settledStatus(gateway, text)).toBe(200)
    expect(await readKeyState(pool, keyId)).toMatchObject({ managedBy: 'cabinet', revoked: false })
  })
})

test('a namespace that is deleted ends, and so do the keys of its ApiKeys', async () => {
  const other = await createTeam('orphan')
  const { text, keyId } = await createReady({}, other)
  const orphan = await createReady({ deletionPolicy: 'Orphan' }, other)
  await cluster.kubectlOk(['delete', 'namespace', other.namespace, '--timeout=60s'])
  expect(await settledStatus(gateway, text)).toBe(401)
  expect(await readKeyState(pool, keyId)).toMatchObject({ revoked: true })
  expect(await settledStatus(gateway, orphan.text)).toBe(200)
  expect(await readKeyState(pool, orphan.keyId)).toMatchObject({ managedBy: 'cabinet', revoked: false })
}, 90_000)

describe('a Secret that the cluster does not let go', () => {
  const secretRights = (verbs: readonly string[]) => ({
    apiGroups: [''],
    resources: ['secrets'],
    verbs,
  })
  const deletionsBlocked = () =>
    readMetric(operator, 'operator_deletion_blocked{kind="ApiKey",waits_for="cluster"}')

  async function grant(verbs: readonly string[]): Promise<void> {
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${deployed.namespace}-operator`
    const { body } = await cluster.request('GET', path)
    const role = body as { rules: { resources: string[] }[] }
    const rules = role.rules.map((rule) => (rule.resources.includes('secrets') ? secretRights(verbs) : rule))
    expect((await cluster.request('PUT', path, { ...role, rules })).status).toBe(200)
  }

  test('keeps its ApiKey with an event, a condition, a log line and a metric, until it may be let go', async () => {
    const { name, text } = await createReady({ deletionPolicy: 'Orphan' })
    const override = await createReady({ deletionPolicy: 'Orphan' })
    await grant(['get', 'create', 'patch'])
    await team.remove(name)
    const { Ready } = await team.untilReady(name, 'SecretRefused')
    expect(Ready?.message).toContain("cannot set an ownerRef on a resource you can't delete")
    await vi.waitFor(async () => expect(await team.events(name)).toContain('DeletionBlocked'))
    expect(
      logged.some((line) => line.includes(`${team.namespace}/${name}`) && line.includes('ownerRef')),
    ).toBe(true)
    expect(await deletionsBlocked()).toBe(1)

    // Break-glass goes even then: the key is the cabinet's, and the cluster deletes the Secret with its owner.
    await cluster.kubectlOk([
      '-n',
      team.namespace,
      'annotate',
      'apikey',
      override.name,
      'modelgateway.dev/deletion-policy-override=Orphan',
    ])
    await kubectlDelete(override.name)
    await secretIsGone(override.name)
    expect(await settledStatus(gateway, override.text)).toBe(200)

    await grant(['get', 'create', 'patch', 'delete'])
    await vi.waitFor(async () => expect(await team.find(name)).toBeUndefined(), { timeout: 40_000 })
    expect(valuesOf(await team.secret(`${name}-apikey`)).OPENAI_API_KEY).toBe(text)
    expect(await deletionsBlocked()).toBe(0)
  }, 90_000)
})
