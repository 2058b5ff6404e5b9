import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { problems } from '#cabinet/api/problem'
import type { PricedModel } from '#cabinet/catalog/catalog-contracts'
import { buildPagesIfOlder, pagesFolder } from '#cabinet/pages/build-pages'
import { pageRoutes } from '#cabinet/pages/page-routes'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { removeRoute } from '#core/catalog/catalog-store'
import { errorRows } from '#core/errors/refusal'
import { createModel, createProvider } from '../support/catalog.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { startTestWeb, type TestWeb } from '../support/web.ts'

const database = await databaseOfThisFile()
let web: TestWeb
beforeAll(async () => {
  await buildPagesIfOlder()
  const started = await startTestWeb(database)
  web = started
  return () => started[Symbol.asyncDispose]()
})

/** As a browser asks for a document. */
function open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${web.url}${path}`, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' })
}

const headOf = async (response: Response) => /<html[^>]*>/.exec(await response.text())?.[0]

describe('a page', () => {
  test('of every route is a document under a policy that runs no script within it; caches keep public pages only', async () => {
    for (const [path, { area }] of Object.entries(pageRoutes)) {
      const response = await open(path.replace(/:\w+|\*/g, 'x'))
      const caching = area === 'public' ? 'no-cache' : 'no-store'
      expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, caching])
      expect([path, response.headers.has('etag')]).toEqual([path, area === 'public'])
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
      expect(policy).toContain("connect-src 'self' http://localhost:8080;")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(response.headers.get('permissions-policy')).toMatch(/^camera=\(\), .*usb=\(\)$/)
      expect(await response.text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=/)
    }
  })

  test('is in the language and theme of the cookie, which may hold nothing else', async () => {
    const cookie = 'model_gateway_language=en; model_gateway_theme=dark'
    const english = await open('/login', { cookie, 'accept-language': 'ru' })
    const document = await english.text()
    expect(document).toContain('<html lang="en" data-theme="dark">')
    expect(document).toContain('<title>Sign in · Model Gateway</title>')
    expect(await headOf(await open('/login', { 'accept-language': 'en-GB' }))).toContain('lang="en"')
    const forged = 'model_gateway_language="><script>; model_gateway_theme=x'
    expect(await headOf(await open('/login', { cookie: forged }))).toBe(
      '<html lang="ru" data-theme="system">',
    )
  })

  test('for everyone is sent again only if it has changed, or its reader’s language has', async () => {
    const first = await open('/')
    const etag = first.headers.get('etag') ?? ''
    const known = await open('/', { 'if-none-match': etag })
    expect([known.status, await known.text(), known.headers.get('etag')]).toEqual([304, '', etag])
    expect(known.headers.get('vary')).toBe('cookie, accept-language')
    const cookie = 'model_gateway_language=en'
    const english = await open('/', { 'if-none-match': etag, cookie })
    expect([english.status, await headOf(english)]).toEqual([200, expect.stringContaining('lang="en"')])
  })

  test('that does not exist is a page for a browser, and a problem for a program', async () => {
    const response = await open('/nowhere')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('<title>Страница не найдена · Model Gateway</title>')
    for (const [path, accept] of [
      ['/nowhere', 'application/json'],
      ['/api/v1/nowhere', 'text/html'],
      ['/assets/nowhere.js', 'text/html'],
    ] as const) {
      const problem = await open(path, { accept })
      expect([problem.status, problem.headers.get('content-type')]).toEqual([
        404,
        'application/problem+json; charset=utf-8',
      ])
    }
  })

  test('at an undecodable address does not exist either, in the language of the cookie', async () => {
    for (const path of ['/app/keys/%', '/models/%E0', '/%', '/models/%E0%A4%A?of=what']) {
      const response = await open(path, { cookie: 'model_gateway_language=en' })
      expect([path, response.status]).toEqual([path, 404])
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(await response.text()).toMatch(/<html lang="en".*<title>Page not found/s)
    }
    for (const [path, accept] of [
      ['/app/keys/%', 'application/json'],
      ['/api/v1/keys/%', 'text/html'],
    ] as const) {
      const problem = await open(path, { accept })
      const type = problem.headers.get('content-type')
      expect([path, problem.status, type]).toEqual([path, 400, 'application/problem+json; charset=utf-8'])
    }
  })

  test('is named in the language of who asks for it', async () => {
    expect(await (await open('/app/keys')).text()).toContain('<title>Ключи · Model Gateway</title>')
  })
})

describe('a file of the pages', () => {
  const [script = ''] = readdirSync(join(pagesFolder, 'assets')).filter((name) => name.endsWith('.js'))

  test('is cached permanently, and sent as small as the caller can read it', async () => {
    for (const encoding of ['br', 'gzip']) {
      const response = await open(`/assets/${script}`, { 'accept-encoding': encoding })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-encoding')).toBe(encoding)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('is none of those next to the folder', async () => {
    for (const path of ['/assets/..%2findex.html', '/assets/%2e%2e/index.html', '/assets/'])
      expect((await open(path)).status).toBe(404)
  })
})

/** The links of a document within the site, without their anchors. */
function linksOf(document: string): readonly string[] {
  return [...document.matchAll(/\s(?:href|src|data-search)="(\/[^"#]*)/g)].map(([, link = '']) => link)
}

async function listedAddresses(): Promise<readonly string[]> {
  const text = await (await fetch(`${web.url}/sitemap.xml`)).text()
  return [...text.matchAll(/<loc>http:\/\/localhost:3000([^<]*)<\/loc>/g)].map(([, path = '']) => path || '/')
}

describe('the documentation', () => {
  test('is complete without a script, in the language of its address, for any cookie', async () => {
    const cookie = 'model_gateway_language=en; model_gateway_theme=dark'
    const russian = await open('/docs/errors', { cookie, 'accept-language': 'en' })
    const document = await russian.text()
    expect([russian.status, russian.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    expect(document).toContain('<html lang="ru" data-theme="dark">')
    expect(document).toContain('<title>Ошибки · Model Gateway</title>')
    expect(document).toContain('<h3 id="insufficient_balance">')
    const english = await (await open('/en/docs/errors')).text()
    expect(english).toContain('<html lang="en" data-theme="system">')
    expect(english).toContain('<link rel="canonical" href="http://localhost:3000/en/docs/errors">')
  })

  test('names the addresses of this deployment, in pages and in Markdown', async () => {
    const { url } = web
    const [page, markdown] = await Promise.all(
      ['/en/docs/sdks', '/en/docs/sdks.md'].map(async (path) => (await fetch(`${url}${path}`)).text()),
    )
    for (const text of [page, markdown]) expect(text).toContain('http://localhost:8080/v1')
    expect(markdown).toMatch(/^# SDKs and coding agents\n/)
  })

  test('has a section for each error code of the gateway and of the cabinet, in both languages, and for no other', async () => {
    for (const language of ['', '/en'])
      for (const [path, codes, level] of [
        ['/docs/errors', Object.keys(errorRows), 3],
        ['/docs/cabinet-errors', Object.keys(problems), 2],
      ] as const) {
        const response = await open(`${language}${path}`)
        const headings = [...(await response.text()).matchAll(new RegExp(`<h${level} id="(\\w+)"`, 'g'))]
        const explained = headings.map(([, code]) => code)
        expect([response.status, explained.toSorted()]).toEqual([200, codes.toSorted()])
      }
  })

  test('is where the errors of the cabinet’s API lead', async () => {
    const { code, doc_url } = (await web.call('GET', '/me')).body
    const { origin, pathname, hash } = new URL(doc_url)
    expect([origin, hash]).toEqual(['http://localhost:3000', `#${code}`])
    expect(await (await open(pathname)).text()).toContain(`id="${code}"`)
  })

  test('and every other public page has links to nothing but addresses that respond', async () => {
    const pages = await listedAddresses()
    const links = new Set<string>()
    for (const path of pages) for (const link of linksOf(await (await open(path)).text())) links.add(link)
    const broken: string[] = []
    for (const link of links) {
      const { status } = await open(link)
      if (status !== 200) broken.push(`${link}: ${status}`)
    }
    expect(links.size).toBeGreaterThan(40)
    expect(broken).toEqual([])
  })

  test('is as small as the caller can read it, and has one address', async () => {
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip;q=0.5, br;q=0', 'gzip'],
      ['identity', null],
    ] as const) {
      const response = await open('/docs/errors', { 'accept-encoding': accepted })
      expect([accepted, response.headers.get('content-encoding')]).toEqual([accepted, encoding])
      expect(await response.text()).toContain('</html>')
      expect(response.headers.get('vary')).toBe('cookie, accept-encoding')
    }
    const { status, headers } = await open('/en/docs/errors/')
    expect([status, headers.get('location')]).toEqual([308, '/en/docs/errors'])
  })

  test('is sent again only if it has changed, under a policy that runs no script within it', async () => {
    const first = await open('/docs')
    const etag = first.headers.get('etag') ?? ''
    expect((await open('/docs', { 'if-none-match': etag })).status).toBe(304)
    expect((await open('/docs', { 'if-none-match': etag, cookie: 'model_gateway_theme=dark' })).status).toBe(
      200,
    )
    expect(first.headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self';")
    for (const path of await listedAddresses())
      expect(await (await open(path)).text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/)
  })
})

/** Until they are released, queries of these tables wait. */
async function lockTables(
  ...tables: readonly string[]
): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const client = await database.pool.connect()
  await client.query('begin')
  await client.query(`lock table ${tables.join(', ')} in access exclusive mode`)
  let isHeld = true
  const release = async () => {
    if (!isHeld) return
    isHeld = false
    await client.query('rollback')
    client.release()
  }
  return { release, [Symbol.asyncDispose]: release }
}

describe('a page of models', () => {
  const id = `acme/${'имя'.repeat(20)}/a?b&c<d>`
  const path = `/models/${id.split('/').map(encodeURIComponent).join('/')}`
  beforeAll(async () => {
    await createProvider(database.pool, { name: 'acme', baseUrl: 'http://127.0.0.1:1' })
    await createModel(database.pool, id, 'acme', { displayName: 'Имя <b>', inputNano: 15_501n })
    await createModel(database.pool, 'acme/gone', 'acme', { fallbacks: [id] })
    await inTestScope(database.pool, (client) => removeRoute(client, 'acme/gone'))
    await vi.waitFor(
      async () => expect(await (await open('/models')).text()).toContain('Имя &lt;b&gt;'),
      10_000,
    )
  })

  test('is complete without a script, with its one address and what search engines and messengers show', async () => {
    const response = await open(`/en${path}`)
    const document = await response.text()
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(document).toContain('<title>Имя &lt;b&gt; · Model Gateway</title>')
    expect(document).toContain(`<link rel="canonical" href="http://localhost:3000/en${path}">`)
    expect(document).toContain(`<link rel="alternate" hreflang="ru" href="http://localhost:3000${path}">`)
    expect(document).toMatch(
      /<meta property="og:description" content="Имя &lt;b&gt;. Prices per 1M tokens: input ₽15.501/,
    )
    expect(document).toContain('http://localhost:8080/v1/chat/completions')
    expect(document).not.toContain('<b>')
    const etag = response.headers.get('etag') ?? ''
    expect((await open(`/en${path}`, { 'if-none-match': etag })).status).toBe(304)
    expect((await open(path)).headers.get('x-robots-tag')).toBe(null)
    expect((await open('/models?q=x')).headers.get('x-robots-tag')).toBe('noindex')
  })

  test('has the prices of the API', async () => {
    const listed = await fetch(`${web.url}/api/v1/models/models-with-pricing`)
    const { data } = (await listed.json()) as { readonly data: readonly PricedModel[] }
    const list = await (await open('/models')).text()
    for (const { id: model, pricing } of data) {
      const page = await (await open(`/models/${model.split('/').map(encodeURIComponent).join('/')}`)).text()
      for (const document of [page, list])
        for (const sum of [pricing.input, pricing.output]) expect(document).toContain(`<data value="${sum}"`)
    }
    expect(data.length).toBeGreaterThan(0)
  })

  test('has one address, and no version where it is an error', async () => {
    for (const [given, one] of [
      ['/models/', '/models'],
      ['/en/models//', '/en/models'],
      [`/en${path}/?a=b`, `/en${path}`],
      ['/models//evil.example/', '/models//evil.example'],
      ['/models/compare/', '/models/compare'],
    ] as const) {
      const { status, headers } = await open(given)
      expect([given, status, headers.get('location')]).toEqual([given, 308, one])
    }
    const etag = (await open(path)).headers.get('etag') ?? ''
    expect((await open(path, { 'if-none-match': `"other", W/${etag}` })).status).toBe(304)
    const none = await open('/models/acme/never')
    expect(
      (await open('/models/acme/never', { 'if-none-match': none.headers.get('etag') ?? '' })).status,
    ).toBe(404)
  })

  test('of a model that is gone is 410 and names its successor; of one that never was, 404', async () => {
    const document = await vi.waitFor(async () => {
      const response = await open('/models/acme/gone')
      expect(response.status).toBe(410)
      return response.text()
    }, 15_000)
    expect(document).toContain(`href="${path}"`)
    expect((await open('/models/acme/never')).status).toBe(404)
    expect((await open(`/models/acme/${'x'.repeat(5_000)}`)).status).toBe(404)
  })

  test('is the last known one while Postgres is unavailable', async () => {
    const before = await (await open('/models')).text()
    await database.pool.query('alter table model_routes rename to model_routes_away')
    try {
      const untilMs = Date.now() + 1_500 // longer than the list is kept
      while (Date.now() < untilMs) {
        const response = await open('/models')
        expect([response.status, await response.text()]).toEqual([200, before])
      }
    } finally {
      await database.pool.query('alter table model_routes_away rename to model_routes')
    }
  })

  test('is there at once while Postgres does not respond; one that was never opened lacks its measurements only', async () => {
    await createModel(database.pool, 'acme/unopened', 'acme', {})
    const before = await vi.waitFor(async () => {
      const list = await (await open('/models')).text()
      expect(list).toContain('acme/unopened')
      return list
    }, 10_000)
    await using locks = await lockTables('model_routes', 'model_hours')
    const response = await open('/en/models/acme/unopened')
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('acme/unopened')])
    const startedMs = performance.now() // the list is older than a second by now
    expect(await (await open('/models')).text()).toBe(before)
    expect(performance.now() - startedMs).toBeLessThan(1_000)
    await locks.release()
  })

  test('that our own mistake prevents is 500', async () => {
    await createModel(database.pool, 'acme/mistaken', 'acme', {})
    await vi.waitFor(
      async () => expect(await (await open('/models')).text()).toContain('acme/mistaken'),
      10_000,
    )
    await database.pool.query('alter table model_hours rename to model_hours_away')
    try {
      expect((await open('/models/acme/mistaken')).status).toBe(500)
    } finally {
      await database.pool.query('alter table model_hours_away rename to model_hours')
    }
    expect((await open('/models/acme/mistaken')).status).toBe(200)
  })
})

test('the sitemap lists every public page in each of its languages, and robots keep out of the others', async () => {
  const listed = await listedAddresses()
  const areas = Object.entries(pageRoutes)
  const fixed = areas
    .filter(([path, { area }]) => area === 'public' && !/[:*]/.test(path))
    .map(([path]) => path)
  expect(listed).toEqual(
    expect.arrayContaining([
      ...fixed,
      '/docs',
      '/en/docs',
      '/docs/errors',
      '/legal/offer',
      '/models',
      '/en/models',
    ]),
  )
  expect(new Set(listed).size).toBe(listed.length)
  for (const path of listed) {
    const response = await open(path)
    expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, 'no-cache'])
  }
  const robots = await (await fetch(`${web.url}/robots.txt`)).text()
  expect(robots).toContain('Sitemap: http://localhost:3000/sitemap.xml')
  const closed = [...robots.matchAll(/^Disallow: (.*)$/gm)].map(([, path = '']) => path)
  for (const [path, { area }] of areas)
    expect([path, closed.some((prefix) => path.startsWith(prefix))]).toEqual([path, area !== 'public'])
})

test('llms.txt lists the Markdown of every page of the documentation', async () => {
  const llms = await (await fetch(`${web.url}/llms.txt`)).text()
  const docs = (await listedAddresses()).filter((path) => path.includes('/docs'))
  for (const path of docs) {
    const address = `http://localhost:3000${path.endsWith('/docs') ? `${path}/index` : path}.md`
    expect(llms).toContain(`](${address})`)
    const response = await fetch(`${web.url}${new URL(address).pathname}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/markdown; charset=utf-8',
    ])
    expect(await response.text()).toMatch(/^# /)
  }
})

test('without built pages the API answers all the same, and a page names the command to run', async () => {
  const app = buildApp({
    sessions: userSessions(database.pool),
    endpoints: [],
    ...unthrottled,
    appOrigin: 'http://localhost:3000',
    trustedProxies: [],
    metrics: createWebMetrics(),
    site: { folder: '/nowhere', routes: pageRoutes, otherOrigins: [] },
    log: { debug: () => undefined, info: () => undefined } as never,
  })
  const page = await app.inject('/login')
  expect([page.statusCode, page.body]).toEqual([503, expect.stringContaining('npm run pages')])
  expect((await app.inject('/api/v1/nowhere')).headers['content-type']).toMatch(/problem\+json/)
  await app.close()
})
