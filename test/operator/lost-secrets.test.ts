import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { secrets } from '#operator/runtime/resources'
import { valuesOf } from '../support/api-key-cluster.ts'
import { freshName, liveKeysOfThisFile, statusOf } from '../support/live-keys.ts'

// With no more permissions than an installation gives.
const live = await liveKeysOfThisFile({ deploy: 'installed' })
const {
  cluster,
  client,
  pool,
  gateway,
  operator,
  team,
  gatewayStatus,
  createReady,
  secretOf,
  putValue,
  untilEvent,
} = live

/** The API key of a Secret that has another one than before; the operator notices by itself. */
const untilOther = (name: string, text: string) =>
  vi.waitFor(
    async () => {
      const next = valuesOf(await team.secret(`${name}-apikey`)).OPENAI_API_KEY
      expect(next).toMatch(/^sk-gateway-/)
      expect(next).not.toBe(text)
      return next ?? ''
    },
    { timeout: 10_000, interval: 10 },
  )

async function removeSecret(name: string): Promise<void> {
  await client.remove(secrets, await secretOf(name))
}

describe('a Secret', () => {
  test.each<[string, (name: string) => Promise<void>]>([
    ['is deleted', removeSecret],
    ['loses its API key', (name) => patchSecret(name, { data: { OPENAI_API_KEY: null } })],
    ['gets another text', (name) => putValue(name, 'sk-of-somebody-else')],
  ])('that %s has a new API key soon, and the one before works on for its grace', async (_, lose) => {
    const { name, text } = await createReady()
    await lose(name)
    const next = await untilOther(name, text)
    await team.untilReady(name)
    expect(await gatewayStatus(gateway, next)).toBe(200)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    await untilEvent(name, 'SecretRepaired')
  })

  test('whose label, owner, key id and base URL are changed gets them back, with the same API key', async () => {
    const { name, text, values } = await createReady()
    const { labels, annotations, ownerReferences } = (await secretOf(name)).metadata
    for (const change of [
      { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } },
      { metadata: { ownerReferences: [] } },
      { metadata: { annotations: { 'modelgateway.dev/key-id': 'another' } } },
      { data: { OPENAI_BASE_URL: 'aHR0cDovL2V2aWw=' } },
    ]) {
      await patchSecret(name, change)
      await vi.waitFor(
        async () => {
          const secret = await secretOf(name)
          expect(secret.metadata).toMatchObject({ labels, annotations, ownerReferences })
          expect(valuesOf(secret)).toEqual(values)
        },
        { timeout: 10_000, interval: 20 },
      )
    }
    expect(await gatewayStatus(gateway, text)).toBe(200)
    await team.untilReady(name)
  })

  test('that is lost while no worker runs: Ready reports it until there is another one', async () => {
    const { name } = await createReady()
    live.worker.freeze()
    onTestFinished(live.worker.thaw)
    await removeSecret(name)
    const { SecretReady } = await team.untilReady(name, 'SecretMissing')
    expect(SecretReady).toMatchObject({ status: 'False' })
    live.worker.thaw()
    const { OPENAI_API_KEY: next = '' } = await team.readyValues(name)
    expect(await gatewayStatus(gateway, next)).toBe(200)
  })

  test('that is deleted repeatedly is repaired five times, then Ready reports when the next one comes', async () => {
    const { name, keyId } = await createReady()
    let text = valuesOf(await secretOf(name)).OPENAI_API_KEY ?? ''
    for (let count = 0; count < 5; count++) {
      await removeSecret(name)
      text = await untilOther(name, text)
      await team.untilReady(name)
    }
    await removeSecret(name)
    const { SecretReady } = await team.untilReady(name, 'SecretMissing')
    expect(SecretReady?.message).toMatch(
      /^The Secret with the API key was deleted, after 5 repairs within the last hour: find what .* at 20\S+Z$/,
    )
    expect(await team.secret(`${name}-apikey`)).toBeUndefined()
    expect(await gatewayStatus(gateway, text)).toBe(200)
    expect((await readKeyState(pool, keyId))?.secrets).toHaveLength(6)
    // A user who cannot wait requests a rotation, which comes a minute after the last repair.
    await pool.query(
      "update cluster_resources set rotated_at = rotated_at - interval '1 minute' where subject = $1",
      [keyId],
    )
    await team.apply(name, { rotation: { trigger: 'now' } })
    expect(await gatewayStatus(gateway, (await team.readyValues(name)).OPENAI_API_KEY ?? '')).toBe(200)
  })
})

describe('an ApiKey is looked at, at once,', () => {
  const looks = (name: string) => operator().looksAt(`${team.namespace}/${name}`)

  test('when any annotation of it changes', async () => {
    const { name } = await createReady()
    const before = looks(name)
    await cluster.kubectlOk(['annotate', 'apikey', name, '-n', team.namespace, 'somebody.example/asks=1'])
    await vi.waitFor(() => expect(looks(name)).toBe(before + 1), { timeout: 2_000, interval: 10 })
  })

  test('when a user edits its status, which is corrected; no process brings the edit back after that', async () => {
    const { name } = await createReady()
    const told = statusOf(await team.find(name))
    for (const status of [{ keyPrefix: 'sk-gateway-evil' }, { conditions: [] }, { secretRef: null }]) {
      const before = looks(name)
      await cluster.kubectlOk([
        'patch',
        'apikey',
        name,
        '-n',
        team.namespace,
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({ status }),
      ])
      await vi.waitFor(async () => expect(statusOf(await team.find(name))).toEqual(told), {
        timeout: 5_000,
        interval: 10,
      })
      expect(looks(name)).toBe(before + 1)
    }
  })
})

describe('of two ApiKeys that name one Secret', () => {
  test('the first keeps it, even after the Secret is deleted; the second gets advice that helps', async () => {
    const { name, text } = await createReady()
    const second = freshName()
    await team.apply(second, { secret: { name: `${name}-apikey` } })
    const { SecretReady } = await team.untilReady(second, 'SecretNotOwned')
    expect(SecretReady?.message).toBe(
      `Secret "${name}-apikey" belongs to ApiKey "${name}": create an ApiKey with another spec.secret.name in place of this one`,
    )
    await removeSecret(name)
    const next = await untilOther(name, text)
    await team.untilReady(name)
    expect((await secretOf(name)).metadata.ownerReferences).toMatchObject([{ name }])
    await team.untilReady(second, 'SecretNotOwned')
    await team.remove(second)
    await team.untilGone(second)
    expect(valuesOf(await secretOf(name)).OPENAI_API_KEY).toBe(next)
    const third = freshName()
    await team.apply(third, { secret: { name: `${third}-own` } })
    await team.untilReady(third)
    expect(
      await gatewayStatus(gateway, valuesOf(await team.secret(`${third}-own`)).OPENAI_API_KEY ?? ''),
    ).toBe(200)
    expect(await gatewayStatus(gateway, next)).toBe(200)
  })

  test('the second gets it by itself when the first is gone, and its Secret with it', async () => {
    const { name } = await createReady()
    const second = freshName()
    await team.apply(second, { secret: { name: `${name}-apikey` } })
    await team.untilReady(second, 'SecretNotOwned')
    await team.remove(name)
    await team.untilGone(name)
    await removeSecret(name) // as the garbage collector does
    await team.untilReady(second)
    const values = valuesOf(await secretOf(name))
    expect(await gatewayStatus(gateway, values.OPENAI_API_KEY ?? '')).toBe(200)
  })
})

async function patchSecret(name: string, change: Parameters<typeof client.patch>[2]): Promise<void> {
  const patched = await client.patch(secrets, await secretOf(name), change)
  if (patched === 'conflict' || patched === 'gone')
    throw new Error(`the Secret of ${name} has changed meanwhile`)
}
