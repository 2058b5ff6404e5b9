import { randomBytes, randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { putResource } from '#core/clusters/cluster-resources'
import { createKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { pepper } from '../support/customer.ts'
import { inTestScope } from '../support/scope.ts'
import { settle } from './addresses.ts'
import { expectNoViolations } from './axe.ts'
import { findOverflow } from './page-faults.ts'
import { openDatabase, readFrom } from './signed-in-calls.ts'
import { openBrowser, register } from './visitor.ts'

const pool = openDatabase()
afterAll(() => pool.end())

/** A key as the operator writes it for an ApiKey, with names as long as a cluster allows. */
async function applyKey(page: Page) {
  const me = await readFrom<{ readonly organization: { readonly id: string } }>(page, '/me')
  const organizationId = me.organization.id
  const unique = randomBytes(4).toString('hex')
  const object = {
    clusterId: randomUUID(),
    kind: 'ApiKey',
    namespace: `team-${'a'.repeat(50)}-${unique}`,
    name: `agents.${'b'.repeat(240)}`,
  } as const
  const name = `Агент ${unique}`
  const keyId = await inTestScope(pool, async (client) => {
    const limits = { dailyBudgetNano: nanoRub(250_000_000_000n), rpm: 60, allowedModels: ['demo/echo'] }
    const made = await createKey(client, { organizationId, name, managedBy: 'kubernetes', ...limits }, pepper)
    const facts = { uid: randomUUID(), generation: 1, revision: null, rotationTrigger: null, rotatedAt: null }
    await putResource(client, { ...object, ...facts, subject: made.keyId })
    return made.keyId
  })
  return { ...object, keyName: name, path: `/app/keys/${keyId}` }
}

/** Every control of a page, without those of its frame. */
const offeredOn = (page: Page) =>
  page.getByRole('main').locator('button, input, select, textarea, [contenteditable]').allTextContents()

test('a key created by kubectl shows cluster, namespace and name, and can only be blocked', async () => {
  const { page } = await openBrowser()
  await register(page)
  const { clusterId, namespace, name, keyName, path } = await applyKey(page)
  await page.goto('/app/keys')
  const row = page.getByRole('row').filter({ hasText: keyName })
  await row.getByText('Создан через kubectl:').waitFor()
  await row.getByText(`${clusterId.slice(0, 8)}… / ${namespace} / ${name}`).waitFor()
  await expectNoViolations(page)
  await row.getByRole('link', { name: keyName }).click()

  await page.getByText('Этим ключом управляет кластер').waitFor()
  await settle(page)
  for (const shown of [clusterId, namespace, name, 'demo/echo', 'через kubectl'])
    await page.getByRole('definition').getByText(shown, { exact: true }).waitFor()
  expect(await offeredOn(page)).toEqual(['Заблокировать'])
  await expectNoViolations(page)

  await page.getByRole('button', { name: 'Заблокировать' }).click()
  await page.getByText('Сейчас шлюз ответит отказом: ключ заблокирован.').waitFor()
  expect(await offeredOn(page)).toEqual(['Разблокировать'])
  await page.reload()
  await page.getByRole('button', { name: 'Разблокировать' }).click()
  await page.getByRole('button', { name: 'Заблокировать' }).waitFor()
  expect(new URL(page.url()).pathname).toBe(path)
})

test('names as long as a cluster allows break no page of keys at 320 px', async () => {
  const { page } = await openBrowser({ language: 'en', width: 320 })
  await register(page)
  const { path } = await applyKey(page)
  for (const address of ['/app/keys', path]) {
    await page.goto(address)
    await settle(page)
    expect(await findOverflow(page), address).toEqual([])
  }
})
