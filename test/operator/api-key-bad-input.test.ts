import { describe, expect, test, vi } from 'vitest'
import { apiKeys, namespaces, secrets } from '#operator/runtime/resources'
import { freshName, liveKeysOfThisFile } from '../support/live-keys.ts'

const live = await liveKeysOfThisFile()
const { cluster, client, team, secretOf, keyRowCount } = live

describe('bad input', () => {
  test('a namespace without the label makes no key', async () => {
    const namespace = await cluster.createNamespace()
    const name = freshName()
    // The policy would reject it; the operator asks as well.
    const applied = await client
      .apply(apiKeys, { metadata: { namespace, name }, spec: { organization: team.organization } })
      .catch(() => undefined)
    if (applied === undefined) return
    await vi.waitFor(async () =>
      expect(JSON.stringify((await client.find(apiKeys, { namespace, name }))?.status)).toContain(
        'NamespaceNotAllowed',
      ),
    )
    expect(await keyRowCount(name)).toBe(0)
  })

  test('an organization that does not exist is reported, and no key is created', async () => {
    const namespace = await cluster.createNamespace('nobody')
    const name = freshName()
    await client.apply(apiKeys, { metadata: { namespace, name }, spec: { organization: 'nobody' } })
    await vi.waitFor(async () =>
      expect(JSON.stringify((await client.find(apiKeys, { namespace, name }))?.status)).toContain(
        'Organization \\"nobody\\" does not exist in the cabinet',
      ),
    )
    expect(await keyRowCount(name)).toBe(0)
    await vi.waitFor(async () =>
      expect(await cluster.kubectlOk(['-n', namespace, 'events'])).toContain(' OrganizationNotFound '),
    )
  })

  test('a foreign Secret is not touched, and no key is created for it', async () => {
    const name = freshName()
    const data = { PASSWORD: 'c2VjcmV0' }
    const metadata = { namespace: team.namespace, name: `${name}-apikey` }
    await client.create(secrets, { metadata, type: 'Opaque', data })
    await team.apply(name)
    const { SecretReady } = await team.untilReady(name, 'SecretNotOwned')
    expect(SecretReady?.message).toContain('already exists and was not created for this ApiKey')
    expect((await secretOf(name)).data).toEqual(data)
    expect(await keyRowCount(name)).toBe(0)
    await vi.waitFor(async () => expect(await team.events(name)).toEqual(['SecretNotOwned']))
    await client.remove(secrets, await secretOf(name))
    await team.untilReady(name)
  })

  test('one Secret key for both secret and base URL is rejected by the API server', async () => {
    const spec = { secret: { key: 'SAME', baseURLKey: 'SAME' } }
    await expect(team.apply(freshName(), spec)).rejects.toThrow('must differ from key')
  })

  test('in a namespace that is going nothing is made', async () => {
    const namespace = await cluster.createNamespace()
    const name = freshName()
    const { organization } = team
    await cluster.kubectlOk([
      'label',
      'namespace',
      namespace,
      `modelgateway.dev/organization=${organization}`,
    ])
    await client.create(secrets, {
      metadata: { namespace, name: `${name}-apikey` },
      type: 'Opaque',
      data: {},
    })
    await client.apply(apiKeys, { metadata: { namespace, name }, spec: { organization } })
    const seen = (reason: string) =>
      vi.waitFor(async () =>
        expect(JSON.stringify((await client.find(apiKeys, { namespace, name }))?.status)).toContain(reason),
      )
    await seen('SecretNotOwned')
    const space = await client.find(namespaces, { namespace: '', name: namespace })
    if (space === undefined) throw new Error('no namespace')
    const foreign = await client.find(secrets, { namespace, name: `${name}-apikey` })
    await client.remove(namespaces, space) // no controller ends it here
    await client.remove(secrets, foreign ?? space)
    await seen('NamespaceTerminating')
    expect(await keyRowCount(name)).toBe(0)
  })
})
