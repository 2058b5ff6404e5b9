import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { type PagePath, pageRoutes } from '#cabinet/pages/page-routes'

/** An address without a page. */
const nowhere = '/nowhere'

/**
 * The address of every page, and one without a page, as the demo's owner finds them. Variable parts name an existing
 * key, request or payment.
 */
export async function addressesFor(page: Page): Promise<readonly string[]> {
  const first = async (path: string) => {
    const answer = await page.request.get(`/api/v1${path}`)
    const { data } = (await answer.json()) as { readonly data: readonly { readonly id: string }[] }
    return data[0]?.id
  }
  const [keyId, requestId, paymentId] = await Promise.all([
    first('/keys?limit=1'),
    first('/requests?limit=1'),
    first('/payments?limit=1').then((known) => known ?? beginPayment(page)),
  ])
  const config = (await (await page.request.get('/api/v1/config')).json()) as {
    readonly documents: readonly { readonly version: string }[]
  }
  const examples: Partial<Record<PagePath, string>> = {
    '/app/models/compare': '/app/models/compare?model=demo%2Fecho&model=demo%2Fembed',
    '/app/models/*': '/app/models/demo/echo',
    '/legal/:kind': '/legal/offer',
    '/legal/:kind/:version': `/legal/offer/${config.documents[0]?.version}`,
    '/app/keys/:key_id': `/app/keys/${keyId}`,
    '/app/requests/:request_id': `/app/requests/${requestId}`,
    '/app/invitations/:invitation_id': `/app/invitations/${randomUUID()}`,
    '/app/billing/return': `/app/billing/return?payment=${paymentId}`,
  }
  const addresses = (Object.keys(pageRoutes) as PagePath[]).map((path) => examples[path] ?? path)
  const unnamed = addresses.filter((address) => /[:*]|undefined/.test(address))
  if (unnamed.length > 0) throw new Error(`no example address for ${unnamed.join(', ')}`)
  return [...addresses, nowhere]
}

async function beginPayment(page: Page): Promise<string> {
  const answer = await page.request.post('/api/v1/payments', {
    data: { amount_rub: '100' },
    headers: { 'idempotency-key': randomUUID(), origin: new URL(page.url()).origin },
  })
  return ((await answer.json()) as { readonly id: string }).id
}

/** Navigates within the open document, as a link does, and waits until the page shows its data. */
export async function visit(page: Page, address: string): Promise<void> {
  if (page.url() === 'about:blank') await page.goto(address)
  else await page.evaluate((to) => history.pushState(null, '', to), address)
  await settle(page)
}

/** Resolves once the page has its heading and nothing on it is loading. */
export async function settle(page: Page): Promise<void> {
  await page
    .locator('h1')
    .first()
    .waitFor({ timeout: 15_000 })
    .catch(() => {
      throw new Error(`${page.url()} has no heading`)
    })
  await page.locator('.after-a-moment, [aria-busy=true]').first().waitFor({ state: 'detached' })
}
