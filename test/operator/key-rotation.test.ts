import { describe, expect, test, vi } from 'vitest'
import { liveKeysOfThisFile, statusOf } from '../support/live-keys.ts'

// With no more permissions than an installation gives.
const live = await liveKeysOfThisFile({ deploy: 'installed' })
const { cluster, pool, gateway, team, gatewayStatus, createReady, secretOf, untilEvent } = live

const hourMs = 3_600_000
const waiting = { timeout: 20_000, interval: 50 }

describe('rotation by time', () => {
  test('is in the status, comes when its time has come, and leaves the API key before it alive for the grace', async () => {
    const { name, text, keyId } = await createReady({ rotation: { interval: '10h', gracePeriod: '1h' } })
    const { lastRotated = '', nextRotation = '' } = statusOf(await team.find(name)).rotation ?? {}
    const leftMs = Date.parse(nextRotation) - Date.parse(lastRotated)
    expect(leftMs).toBeGreaterThanOrEqual(9 * hourMs - 1_000)
    expect(leftMs).toBeLessThanOrEqual(10 * hourMs)
    await makeOlder(keyId, name)
    await untilEvent(name, 'KeyRotated')
    const { OPENAI_API_KEY: next = '' } = await team.readyValues(name)
    expect(next).not.toBe(text)
    expect(await gatewayStatus(gateway, next)).toBe(200)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    const rotation = await vi.waitFor(async () => {
      const shown = statusOf(await team.find(name)).rotation
      expect(shown?.previousKeyExpiresAt).toBeDefined()
      return shown
    }, waiting)
    expect(Date.parse(rotation?.nextRotation ?? '')).toBeGreaterThan(Date.now() + 8 * hourMs)
    const graceMs = Date.parse(rotation?.previousKeyExpiresAt ?? '') - Date.parse(rotation?.lastRotated ?? '')
    expect(Math.abs(graceMs - hourMs)).toBeLessThan(2_000)
  })

  test('goes with a trigger: each rotates by itself', async () => {
    const { name, text } = await createReady({ rotation: { interval: '48h', trigger: 'one' } })
    await team.apply(name, { rotation: { interval: '48h', trigger: 'two' } })
    const { OPENAI_API_KEY: next = '' } = await team.readyValues(name)
    expect(next).not.toBe(text)
    await team.apply(name, { rotation: { trigger: 'two' } })
    await team.untilReady(name)
    expect(statusOf(await team.find(name)).rotation?.nextRotation).toBeUndefined()
  })

  /** As if its API key had been written ten hours ago. An annotation brings a look at once. */
  async function makeOlder(keyId: string, name: string): Promise<void> {
    await pool.query(
      "update cluster_resources set rotated_at = rotated_at - interval '10 hours' where subject = $1",
      [keyId],
    )
    await cluster.kubectlOk(['annotate', 'apikey', name, '-n', team.namespace, 'somebody.example/asks=1'])
  }
})

test('the template of a Secret is there when it is made, and follows the spec', async () => {
  const template = {
    labels: { team: 'a' },
    annotations: { note: 'x' },
  }
  const { name, text } = await createReady({ secret: { template } })
  const made = (await secretOf(name)).metadata
  expect(made.labels).toEqual({ team: 'a', 'app.kubernetes.io/managed-by': 'model-gateway-operator' })
  expect(made.annotations).toMatchObject({ note: 'x' })
  await team.apply(name, { secret: { template: { labels: { stage: 'b' } } } })
  const { OPENAI_API_KEY: same } = await team.readyValues(name)
  expect(same).toBe(text)
  const changed = (await secretOf(name)).metadata
  expect(changed.labels).toEqual({ stage: 'b', 'app.kubernetes.io/managed-by': 'model-gateway-operator' })
  expect(changed.annotations).not.toHaveProperty('note')
})
