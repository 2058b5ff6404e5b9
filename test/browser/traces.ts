import type { BrowserContext, Page } from 'playwright-core'
import type { Answer, HttpProxy } from './proxy.ts'

/** Everything that a browser has received from the beginning, and everything that it shows and stores. */
export type Traces = {
  /** All key secrets that were in a response. */
  secrets(): readonly string[]
  /**
   * Where a text was received or is stored, except for the one response that created it and a dialog that shows it now.
   */
  placesOf(text: string): Promise<readonly string[]>
}

/** Listens to a browser that has not opened anything yet. */
export function tracesOf(context: BrowserContext, proxy: HttpProxy): Traces {
  const said: string[] = []
  context.on('console', (line) => said.push(`the console: ${line.text()}`))
  context.on('weberror', (thrown) => said.push(`an error: ${thrown.error()}`))
  context.on('page', (page) => page.on('framenavigated', (frame) => said.push(`an address: ${frame.url()}`)))
  return {
    secrets: () => [
      ...new Set(proxy.answers().flatMap(({ body }) => body.match(/sk-gateway-\d{2}[\dA-Za-z]{49}/g) ?? [])),
    ],
    async placesOf(text) {
      const answers = proxy.answers().filter((answer) => textOf(answer).includes(text))
      const maker = answers.find(isOfNewSecret)
      const told = answers.filter((answer) => answer !== maker).map(textOf)
      const cookies = `the cookies: ${JSON.stringify(await context.storageState({ indexedDB: true }))}`
      const kept = await Promise.all(context.pages().map(readKept))
      return [...told, ...[...said, cookies, ...kept.flat()].filter((place) => place.includes(text))].map(
        (place) => place.slice(0, 300),
      )
    },
  }
}

const textOf = ({ method, url, headers, body }: Answer) => `${method} ${url}: ${headers.join(' ')} ${body}`

/** The calls that return a secret, each once. */
function isOfNewSecret({ method, url }: Answer): boolean {
  const { pathname } = new URL(url)
  return method === 'POST' && /^\/api\/v1\/(?:keys|keys\/[^/]+\/rotate|playground-keys)$/.test(pathname)
}

/** The document with its typed values, its storages, and the browser's history state. */
async function readKept(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page)
  const { entries } = await session.send('Page.getNavigationHistory')
  await session.detach()
  const history = `the history: ${entries.map(({ url, title }) => `${url} ${title}`).join(' ')}`
  const isWebPage = page.url().startsWith('http')
  return isWebPage ? [history, ...(await page.evaluate(readDocument))] : [history]
}

/** Runs in the page. */
async function readDocument(): Promise<readonly string[]> {
  const isShown = document.querySelector('dialog[open] [data-secret]') !== null
  const fields = [...document.querySelectorAll<HTMLInputElement>('input, textarea')]
  return [
    `the document: ${isShown ? '' : document.documentElement.outerHTML}`,
    `the fields: ${fields.map(({ value }) => value).join(' ')}`,
    `the storages: ${JSON.stringify([{ ...localStorage }, { ...sessionStorage }, await caches.keys()])}`,
    `the rest: ${[document.title, document.cookie, window.name, JSON.stringify(history.state)].join(' ')}`,
  ]
}
