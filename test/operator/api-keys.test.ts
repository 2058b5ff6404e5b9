import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { blockKey, revokeKey, setLimits, unblockKey } from '#core/keys/key-store'
import { apiKeys } from '#operator/runtime/resources'
import { valuesOf } from '../support/api-key-cluster.ts'
import { liveKeysOfThisFile, statusOf } from '../support/live-keys.ts'
import { gatewayBaseUrl } from '../support/operator.ts'
import { revoke } from '../support/revoke.ts'
import { inTestScope } from '../support/scope.ts'

const live = await liveKeysOfThisFile({ keysMay: 'orphan' })
const {
  cluster,
  client,
  pool,
  gateway,
  operator,
  startOperator,
  team,
  createTeam,
  gatewayStatus,
  createReady,
  secretOf,
  untilStatus,
  untilEvent,
  touch,
} = live

describe('an ApiKey that is applied', () => {
  test('becomes a Secret that envFrom can use, and a gateway answers to it', async () => {
    const { name, text, values, keyId } = await createReady({
      displayName: 'CI pipeline',
      limits: { requestsPerMinute: 600, dailyBudgetRub: '250.00', monthlyBudgetRub: '5000' },
      allowedModels: ['openai/gpt-4o-mini', 'anthropic/*'],
      allowedIPs: ['127.0.0.0/8', '2001:DB8::/32'],
    })
    expect(values).toEqual({ OPENAI_API_KEY: text, OPENAI_BASE_URL: gatewayBaseUrl })
    expect(await gatewayStatus(gateway, text)).toBe(200)
    const object = await team.find(name)
    expect(statusOf(object)).toMatchObject({
      observedGeneration: 1,
      keyID: keyId,
      keyPrefix: `${text.slice(0, 15)}…${text.slice(-4)}`,
      managedBy: 'kubernetes',
      secretRef: { name: `${name}-apikey`, key: 'OPENAI_API_KEY' },
    })
    expect(await secretOf(name)).toMatchObject({
      type: 'Opaque',
      metadata: {
        labels: { 'app.kubernetes.io/managed-by': 'model-gateway-operator' },
        annotations: { 'modelgateway.dev/key-id': keyId },
        ownerReferences: [{ kind: 'ApiKey', name, uid: object?.metadata.uid, controller: true }],
      },
    })
    expect(await readKeyState(pool, keyId)).toMatchObject({
      name: 'CI pipeline',
      organization: team.organization,
      limits: {
        rpm: 600,
        dailyBudgetNano: 250_000_000_000n,
        weeklyBudgetNano: null,
        monthlyBudgetNano: 5_000_000_000_000n,
        totalBudgetNano: null,
        allowedModels: ['openai/gpt-4o-mini', 'anthropic/*'],
        allowedIps: ['127.0.0.0/8', '2001:db8::/32'],
      },
    })
    await untilEvent(name, 'KeyMinted')
  })

  test('shows its text nowhere but in its Secret', async () => {
    const { name, text } = await createReady()
    await untilEvent(name, 'KeyMinted')
    const seen = await cluster.kubectlOk(['get', 'apikeys,events', '-n', team.namespace, '-o', 'json'])
    expect(seen).toContain(name)
    expect(seen).not.toContain(text.slice(15, -4))
    expect(JSON.stringify(operator().errors)).not.toContain('sk-gateway-')
  })

  test('is looked at once: nothing that the operator writes brings it back', async () => {
    const { name } = await createReady()
    await untilEvent(name, 'KeyMinted')
    // Cluster and database report changes in order: once a later one of another key has been seen, so have this key's.
    const other = await createReady({ limits: { requestsPerMinute: 5 } })
    await inTestScope(pool, (client) => setLimits(client, other.keyId, { rpm: 5_000 }))
    await untilEvent(other.name, 'DriftCorrected')
    expect(operator().looksAt(`${team.namespace}/${name}`)).toBe(1)
  })

  test('writes into the entries that it names, and moves the secret when they change', async () => {
    const { name, text, keyId } = await createReady({ secret: { key: 'TOKEN', baseURLKey: '' } })
    expect(text).toBe('')
    const value = valuesOf(await secretOf(name)).TOKEN ?? ''
    expect(valuesOf(await secretOf(name))).toEqual({ TOKEN: value })
    await team.apply(name, { secret: { key: 'API_KEY', baseURLKey: 'URL' } })
    await team.untilReady(name)
    expect(valuesOf(await secretOf(name))).toEqual({ API_KEY: value, URL: gatewayBaseUrl })
    expect((await readKeyState(pool, keyId))?.secrets).toHaveLength(1)
  })

  test('may have a name of 253 characters', async () => {
    const name = `${'long-name.'.repeat(25)}abc`
    expect(name).toHaveLength(253)
    await team.apply(name)
    await team.untilReady(name)
    const values = valuesOf(await team.secret(statusOf(await team.find(name)).secretRef?.name ?? ''))
    expect(await gatewayStatus(gateway, values.OPENAI_API_KEY ?? '')).toBe(200)
  })

  test('gets new limits within one check, and reports when they apply', async () => {
    const { name, keyId } = await createReady()
    const applied = await team.apply(name, { limits: { requestsPerMinute: 7 } })
    await team.untilReady(name)
    const state = await readKeyState(pool, keyId)
    expect(state).toMatchObject({ limits: { rpm: 7 }, isProjected: true })
    expect(statusOf(await team.find(name)).observedGeneration).toBe(applied.metadata.generation)
  })
})

describe('rotation', () => {
  test('by a new trigger changes the secret; the previous one works for the grace period, which is reported', async () => {
    const { name, text } = await createReady({ rotation: { trigger: 'one' } })
    await team.apply(name, { rotation: { trigger: 'two', gracePeriod: '1h' } })
    const next = (await team.readyValues(name)).OPENAI_API_KEY ?? ''
    expect(next).not.toBe(text)
    expect(await gatewayStatus(gateway, next)).toBe(200)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    const { rotation } = statusOf(await team.find(name))
    expect(rotation?.observedTrigger).toBe('two')
    const graceMs = Date.parse(rotation?.previousKeyExpiresAt ?? '') - Date.parse(rotation?.lastRotated ?? '')
    expect(Math.abs(graceMs - 3_600_000)).toBeLessThan(2_000)
    await untilEvent(name, 'KeyRotated')
  })

  test('without a grace ends the previous secret at once, when the new one is in the Secret', async () => {
    const { name, text } = await createReady()
    await team.apply(name, { rotation: { trigger: 'now', gracePeriod: '0s' } })
    const next = (await team.readyValues(name)).OPENAI_API_KEY ?? ''
    expect(await gatewayStatus(gateway, next)).toBe(200)
    expect(await gatewayStatus(gateway, text)).toBe(401)
  })
})

describe('drift', () => {
  test('limits changed in the database are corrected within a second, with an event', async () => {
    const { name, keyId } = await createReady({ limits: { requestsPerMinute: 5 } })
    await inTestScope(pool, (client) => setLimits(client, keyId, { rpm: 5_000 }))
    await vi.waitFor(async () => expect((await readKeyState(pool, keyId))?.limits.rpm).toBe(5), {
      timeout: 1_000,
      interval: 10,
    })
    await untilEvent(name, 'DriftCorrected')
  })

  test('a key that a restored database has lost comes back with the secret that its Secret holds', async () => {
    const { name, text, keyId } = await createReady({ limits: { requestsPerMinute: 5 } })
    await forgetInDatabase(keyId)
    await touch(name, { limits: { requestsPerMinute: 5 } })
    await untilEvent(name, 'Restored')
    expect((await team.readyValues(name)).OPENAI_API_KEY).toBe(text)
    expect(statusOf(await team.find(name)).keyID).toBe(keyId)
    expect(await gatewayStatus(gateway, text)).toBe(200)
  })

  test('an ApiKey that was created again goes on with its key: another uid, the same secret', async () => {
    const { name, text, keyId } = await createReady()
    const before = await team.find(name)
    if (before === undefined) throw new Error('it is gone')
    // As in a restored cluster: no operator ran the finalizer.
    await operator().kill()
    await client.patch(apiKeys, before, { metadata: { finalizers: [] } })
    await team.remove(name)
    await team.untilGone(name)
    const after = await team.apply(name)
    await startOperator()
    expect((await team.readyValues(name)).OPENAI_API_KEY).toBe(text)
    expect(statusOf(await team.find(name)).keyID).toBe(keyId)
    expect((await secretOf(name)).metadata.ownerReferences).toMatchObject([{ uid: after.metadata.uid }])
    await untilEvent(name, 'Adopted')
    expect((await readKeyState(pool, keyId))?.secrets).toHaveLength(1)
  })
})

test('an ApiKey that is being deleted is not Ready, and names the finalizers that keep it when its key is dead', async () => {
  const { name, text } = await createReady()
  const object = await team.find(name)
  if (object === undefined) throw new Error('it is gone')
  const finalizers = [...(object.metadata.finalizers ?? []), 'example.com/backup']
  await client.patch(apiKeys, object, { metadata: { finalizers } })
  await team.remove(name)
  const { Ready } = await team.untilReady(name, 'Deleting')
  expect(Ready).toMatchObject({
    status: 'False',
    message: 'This object is being deleted. It waits for its finalizers: example.com/backup',
  })
  await untilStatus(text, 401)
  const kept = await team.find(name)
  if (kept !== undefined) await client.patch(apiKeys, kept, { metadata: { finalizers: [] } })
  await team.untilGone(name)
})

describe('a key that may not be used', () => {
  test('because its spec suspends it is rejected at once, and works again at once', async () => {
    const { name, text } = await createReady()
    await team.apply(name, { suspend: true })
    await team.untilReady(name, 'Suspended')
    expect(await gatewayStatus(gateway, text)).toBe(403)
    await untilEvent(name, 'Blocked')
    await team.apply(name, { suspend: false })
    await team.untilReady(name)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    await untilEvent(name, 'Unblocked')
  })

  test('because the cabinet blocked it reports that, and the operator never lifts the block', async () => {
    const { name, text, keyId } = await createReady()
    await inTestScope(pool, (client) => blockKey(client, keyId, 'admin'))
    await team.untilReady(name, 'BlockedByCabinet')
    await touch(name)
    await team.untilReady(name, 'BlockedByCabinet')
    expect(await gatewayStatus(gateway, text)).toBe(403)
    await inTestScope(pool, (client) => unblockKey(client, keyId, 'admin'))
    await team.untilReady(name)
  })

  test('because the cabinet revoked it stays revoked', async () => {
    const { name, text, keyId } = await createReady()
    await inTestScope(pool, (client) => revokeKey(client, keyId))
    const { Ready } = await team.untilReady(name, 'BlockedByCabinet')
    expect(Ready?.message).toContain('revoked')
    await touch(name)
    await untilStatus(text, 401)
    expect(statusOf(await team.find(name)).keyID).toBe(keyId)
    expect(Ready?.message).toContain('To get a new key, delete this ApiKey and create it again')
    await team.remove(name)
    await team.untilGone(name)
    await team.apply(name)
    expect(await gatewayStatus(gateway, (await team.readyValues(name)).OPENAI_API_KEY ?? '')).toBe(200)
    expect(await gatewayStatus(gateway, text)).toBe(401)
  })

  test('because it expired reports that on time', async () => {
    const expiresAt = new Date(Date.now() + 3_000)
    const { name, text } = await createReady({ expiresAt: expiresAt.toISOString() })
    await team.untilReady(name, 'Expired')
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime())
    expect(Date.now()).toBeLessThan(expiresAt.getTime() + 1_000)
    expect(await gatewayStatus(gateway, text)).toBe(401)
  })

  test('that may outlive it is blocked within a second when its namespace loses the label, until the label is back', async () => {
    const other = await createTeam('orphan')
    await other.apply('ci', { deletionPolicy: 'Orphan' })
    const text = (await other.readyValues('ci')).OPENAI_API_KEY ?? ''
    await cluster.kubectlOk(['label', 'namespace', other.namespace, 'modelgateway.dev/organization-'])
    const { Accepted } = await other.untilReady('ci', 'NamespaceNotAllowed')
    expect(Accepted?.message).toBe(
      `Namespace ${other.namespace} may not use organization ${other.organization}: ask a cluster admin to label it modelgateway.dev/organization=${other.organization}`,
    )
    await untilStatus(text, 403)
    await cluster.kubectlOk([
      'label',
      'namespace',
      other.namespace,
      `modelgateway.dev/organization=${other.organization}`,
    ])
    await other.untilReady('ci')
    expect(await gatewayStatus(gateway, text)).toBe(200)
  })

  test('because its organization is not that of its namespace advises another namespace, not another label', async () => {
    const other = await createTeam()
    const { organization } = other
    await team.apply('of-others', { organization })
    const { Accepted } = await team.untilReady('of-others', 'NamespaceNotAllowed')
    expect(Accepted?.message).toBe(
      `Namespace ${team.namespace} is labelled for organization ${team.organization} and may not use ${organization}: create the ApiKey in a namespace labelled modelgateway.dev/organization=${organization}`,
    )
    await other.apply('of-others')
    await other.untilReady('of-others')
  })
})

describe('an ApiKey that is deleted', () => {
  test('takes its key with it: 401 when the object is gone, and the note in the database too', async () => {
    const { name, text, keyId } = await createReady()
    await team.remove(name)
    await team.untilGone(name)
    expect(await gatewayStatus(gateway, text)).toBe(401)
    expect(await readKeyState(pool, keyId)).toMatchObject({ revoked: true })
    const { rowCount } = await pool.query('select from cluster_resources where subject = $1', [keyId])
    expect(rowCount).toBe(0)
    await untilEvent(name, 'KeyRevoked')
  })

  test('and applied again is a new key, though the old Secret is still there', async () => {
    const { name, text } = await createReady()
    await team.remove(name)
    await team.untilGone(name)
    await team.apply(name)
    const next = (await team.readyValues(name)).OPENAI_API_KEY ?? ''
    expect(next).not.toBe(text)
    expect(await gatewayStatus(gateway, next)).toBe(200)
  })

  test('with the policy Orphan leaves key and Secret behind; the key is the cabinet’s', async () => {
    const { name, text, keyId } = await createReady({ deletionPolicy: 'Orphan' })
    await team.remove(name)
    await team.untilGone(name)
    expect(await gatewayStatus(gateway, text)).toBe(200)
    expect(await readKeyState(pool, keyId)).toMatchObject({ managedBy: 'cabinet', revoked: false })
    const secret = await secretOf(name)
    expect(secret.metadata.ownerReferences ?? []).toEqual([])
    expect(valuesOf(secret).OPENAI_API_KEY).toBe(text)
    await untilEvent(name, 'KeyOrphaned')
    await team.apply(name, { adoption: 'Never' })
    await team.untilReady(name, 'SecretNotOwned')
    expect(await readKeyState(pool, keyId)).toMatchObject({ managedBy: 'cabinet' })
    // And comes home.
    await team.apply(name, { adoption: 'Allow', limits: { requestsPerMinute: 7 } })
    expect((await team.readyValues(name)).OPENAI_API_KEY).toBe(text)
    expect(await readKeyState(pool, keyId)).toMatchObject({ managedBy: 'kubernetes', limits: { rpm: 7 } })
    expect(statusOf(await team.find(name)).keyID).toBe(keyId)
    await untilEvent(name, 'Adopted')
    await team.remove(name)
    await team.untilGone(name)
    await untilStatus(text, 401)
  })

  test('and leaves its key behind can have it ended by the command that the event names', async () => {
    const { name, text, keyId } = await createReady({ deletionPolicy: 'Orphan' })
    await team.remove(name)
    await team.untilGone(name)
    await untilEvent(name, 'KeyOrphaned')
    const events = await cluster.kubectlOk(['get', 'events', '-n', team.namespace, '-o', 'json'])
    expect(events).toContain(`npm run revoke -- ${keyId}`)
    const { stdout } = await revoke(live.stack.database.url, keyId)
    expect(stdout).toContain('every gateway rejects it')
    expect(await gatewayStatus(gateway, text)).toBe(401)
    await team.apply(name, { secret: { name: `${name}-next` } })
    await team.untilReady(name)
  })
})

/** As if the database were one from before the key was made. */
async function forgetInDatabase(keyId: string): Promise<void> {
  onTestFinished(async () => {
    for (const table of ['api_keys', 'api_key_credentials'])
      await pool.query(`alter table ${table} enable trigger refuse_delete`)
  })
  for (const table of ['api_keys', 'api_key_credentials'])
    await pool.query(`alter table ${table} disable trigger refuse_delete`)
  await pool.query('delete from cluster_resources where subject = $1', [keyId])
  await pool.query('delete from api_key_credentials where key_id = $1', [keyId])
  await pool.query('delete from api_keys where id = $1', [keyId])
}
