import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { apiKeys } from '#operator/runtime/resources'
import { liveKeysOfThisFile } from '../support/live-keys.ts'
import { revoke } from '../support/revoke.ts'

// ApiKeys that went without waiting for the end of their keys.
const live = await liveKeysOfThisFile({ keysMay: 'orphan' })
const { client, pool, gateway, operator, startOperator, team, gatewayStatus, createReady, untilStatus } = live

/** Takes the finalizer off and deletes the object. */
async function tearOut(name: string): Promise<void> {
  const object = await team.find(name)
  if (object === undefined) throw new Error(`${name} is gone already`)
  await client.patch(apiKeys, object, { metadata: { finalizers: [] } })
  await team.remove(name)
  expect(await team.find(name)).toBeUndefined()
}

async function isNoted(keyId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from cluster_resources where subject = $1', [keyId])
  return rowCount === 1
}

describe('an ApiKey that went while no operator looked', () => {
  async function loseApiKey() {
    const made = await createReady()
    await operator().kill()
    await tearOut(made.name)
    await startOperator()
    return made
  }

  test('leaves a key that is rejected, with an event', async () => {
    const { name, text, keyId } = await loseApiKey()
    await untilStatus(text, 403)
    expect(await readKeyState(pool, keyId)).toMatchObject({ revoked: false, blockedBy: ['kubernetes'] })
    await live.untilEvent(name, 'Blocked')
    expect(operator().errors.map(String).join()).toContain(`${team.namespace}/${name}, key ${keyId}`)
  })

  test('and may be ended for good by the command that the event names', async () => {
    const { name, text, keyId } = await loseApiKey()
    await live.untilEvent(name, 'Blocked')
    const events = await live.cluster.kubectlOk(['get', 'events', '-n', team.namespace, '-o', 'json'])
    expect(events).toContain(`npm run revoke -- ${keyId}`)
    await revoke(live.stack.database.url, keyId)
    expect(await gatewayStatus(gateway, text)).toBe(401)
  })

  test('and is created again goes on with its key, whose end is then its own again', async () => {
    const { name, text, keyId } = await loseApiKey()
    await untilStatus(text, 403)
    await team.apply(name)
    await team.readyValues(name)
    expect(await readKeyState(pool, keyId)).toMatchObject({ revoked: false, blockedBy: [] })
    await team.remove(name)
    await team.untilGone(name)
    await untilStatus(text, 401)
    expect(await isNoted(keyId)).toBe(false)
  })
})

describe('an ApiKey that went before the operator’s eyes, but without its finalizer', () => {
  async function freeze(work: () => Promise<void>): Promise<void> {
    const blocker = await pool.connect()
    onTestFinished(() => blocker.release())
    // The operator's looks stand still: it does not put its finalizer back.
    await blocker.query('begin; lock table cluster_resources in access exclusive mode')
    await work()
    await blocker.query('rollback')
  }

  test('has its key revoked', async () => {
    const { name, text, keyId } = await createReady()
    await freeze(() => tearOut(name))
    await untilStatus(text, 401)
    await vi.waitFor(async () => expect(await isNoted(keyId)).toBe(false))
    expect(await readKeyState(pool, keyId)).toMatchObject({ revoked: true })
  })

  test('and has deletionPolicy Orphan leaves its key to the cabinet', async () => {
    const { name, text, keyId } = await createReady({ deletionPolicy: 'Orphan' })
    await freeze(() => tearOut(name))
    await vi.waitFor(async () => expect(await isNoted(keyId)).toBe(false), { timeout: 20_000 })
    expect(await readKeyState(pool, keyId)).toMatchObject({ managedBy: 'cabinet', revoked: false })
    expect(await gatewayStatus(gateway, text)).toBe(200)
  })
})
