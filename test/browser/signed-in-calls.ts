import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import { createPool } from '#cabinet/db/pool'
import { databaseUrlOf, type Standalone } from '../support/standalone.ts'

type Answer = { readonly status: number; readonly text: string }

/** A call of the API from a page, by whoever is signed in there. */
export async function callFrom(page: Page, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
  const init = { method, ...(body && { headers, body: JSON.stringify(body) }) }
  return page.evaluate(
    `fetch(${JSON.stringify(`/api/v1${path}`)}, ${JSON.stringify(init)})
       .then(async (response) => ({ status: response.status, text: await response.text() }))`,
  )
}

/** What a call answers, as JSON. */
export async function readFrom<Body>(page: Page, path: string): Promise<Body> {
  return JSON.parse((await callFrom(page, 'GET', path)).text) as Body
}

/** The database of the run, for what no page can bring about. */
export function openDatabase() {
  const running = JSON.parse(inject('systemReady')) as Standalone
  return createPool({ databaseUrl: databaseUrlOf(running), applicationName: 'browser test' })
}
