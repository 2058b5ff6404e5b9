import { expect } from 'vitest'
import { codeOf } from '../support/administrators.ts'
import { openDatabase } from './signed-in-calls.ts'
import { openBrowser, system, type Visitor } from './visitor.ts'

/** Where administrators sign in. */
export const administrationUrl: string = system.administrationUrl

/** A code of the demo's administrator now. Each code works once in 30 s, which no test waits for. */
export async function administratorCode(): Promise<string> {
  const pool = openDatabase()
  await pool.query('update administrators set totp_last_step = 0 where email = $1', [system.cabinet?.admin])
  await pool.end()
  return codeOf(system.cabinet?.adminTotp ?? '')
}

/** A browser at administration, as the demo's administrator, on the first page. */
export async function openAsAdministrator(look: Parameters<typeof openBrowser>[0] = {}): Promise<Visitor> {
  const visitor = await openBrowser(look, { baseURL: administrationUrl })
  const { page } = visitor
  await page.goto('/app')
  await page.waitForURL('**/login?next=%2Fapp')
  expect(system.cabinet?.adminPassword).toBeTruthy()
  await page.locator('[name=email]').fill(system.cabinet?.admin ?? '')
  await page.locator('[name=password]').fill(system.cabinet?.adminPassword ?? '')
  await page.locator('[name=code]').fill(await administratorCode())
  await page.locator('form [type=submit]').click()
  await page.waitForURL('**/app')
  await page.locator('h1').waitFor()
  return visitor
}
