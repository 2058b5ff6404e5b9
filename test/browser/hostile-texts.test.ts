import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { putResource } from '#core/clusters/cluster-resources'
import { createKey } from '#core/keys/key-store'
import { postBatch } from '#core/ledger/post-batch'
import { createModel, createProvider } from '../support/catalog.ts'
import { entryOf, pepper, recordOf } from '../support/customer.ts'
import { insertManagementToken } from '../support/management-token.ts'
import { inTestScope } from '../support/scope.ts'
import { settle } from './addresses.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'

const cabinet = await ownCabinetOfThisFile()
const { pool } = cabinet

const evil = (of: string) => `${of}<script>alert("${of}")</script><img src=evil onerror=alert(1)>`

/** The page shows the text somewhere, and no part of it has become an element. */
async function showsAsText(page: Page, address: string, ...texts: readonly string[]): Promise<void> {
  await page.goto(address)
  await settle(page)
  for (const text of texts) await page.getByText(text).first().waitFor()
  expect(await page.locator('img[src="evil"]').count(), address).toBe(0)
}

test('a tag in the name of an organization, model, browser, token or cluster resource is text wherever it is shown', async () => {
  await createProvider(pool, { name: 'evil', baseUrl: 'http://127.0.0.1:9/v1' })
  const model = `evil/${randomUUID()}`
  const [displayName, description] = [evil('model'), evil('description')]
  await createModel(pool, model, 'evil', { displayName, description })
  const { page, complaints, organizationId, userId } = await cabinet.openSignedIn()
  await pool.query('update organizations set display_name = $2 where id = $1', [organizationId, evil('firm')])
  await pool.query(
    `insert into sessions (id, token_hash, user_id, stage, expires_at, address, agent)
     values ($1, decode(md5($3), 'hex'), $2, 'complete', now() + interval '1 day', '192.0.2.1', $3)`,
    [randomUUID(), userId, `Firefox/1 ${evil('agent')}`],
  )
  const object = { kind: 'ApiKey', namespace: evil('namespace'), name: evil('resource') } as const
  const clusterId = evil('cluster')
  const keyId = await inTestScope(pool, async (client) => {
    const key = { organizationId, name: evil('key'), managedBy: 'kubernetes' } as const
    const made = await createKey(client, key, pepper)
    const facts = { uid: randomUUID(), generation: 1, revision: null, rotationTrigger: null, rotatedAt: null }
    await putResource(client, { ...object, ...facts, clusterId, subject: made.keyId })
    return made.keyId
  })
  const record = recordOf({ modelRan: evil('ran') })
  const entry = entryOf({ organizationId, keyId }, 1n, { record })
  await postBatch(pool, [entry])

  await insertManagementToken(pool, { organizationId, userId, scopes: ['keys'], name: evil('token') })
  const firm = evil('firm')
  await showsAsText(page, '/app', firm)
  await showsAsText(page, '/app/keys', firm, evil('key'), object.namespace, object.name, clusterId)
  await showsAsText(page, `/app/keys/${keyId}`, evil('key'), object.namespace, object.name, clusterId)
  await showsAsText(page, '/app/requests', evil('key'), evil('ran'))
  await showsAsText(page, `/app/requests/${entry.requestId}`, evil('key'), evil('ran'))
  await showsAsText(page, '/app/usage', evil('ran'))
  await showsAsText(page, '/app/usage?group=key', evil('key'))
  await showsAsText(page, '/app/billing/history', evil('ran'))
  await showsAsText(page, '/app/settings', 'Firefox')
  expect(await page.getByTitle(`Firefox/1 ${evil('agent')}`).count()).toBe(1)
  await showsAsText(page, '/app/team', evil('token'))
  await showsAsText(page, '/models', displayName)
  await showsAsText(page, `/models/${model}`, displayName, description)
  expect(complaints).toEqual([])
})
