import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import { createPool } from '#core/db/pool'
import { databaseUrlOf, type Standalone } from '../support/standalone.ts'

type Answer = { readonly status: number; readonly text: string }

/** An API call from a page, as its signed-in user. */
export async function callFrom(page: Page, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
  const init = { method, ...(body && { headers, body: JSON.stringify(body) }) }
  return page.evaluate(
    `fetch(${JSON.stringify(`/api/v1${path}`)}, ${JSON.stringify(init)})
       .then(async (response) => ({ status: response.status, text: await response.text() }))`,
  )
}

/** The response to a call, as JSON. */
export async function readFrom<Body>(page: Page, path: string): Promise<Body> {
  return JSON.parse((await callFrom(page, 'GET', path)).text) as Body
}

/** The run's database, for states that no page can cause. */
export function openDatabase() {
  const running = JSON.parse(inject('systemReady')) as Standalone
  return createPool({ databaseUrl: databaseUrlOf(running), applicationName: 'browser test' })
}
