import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildPagesIfOlder, pagesFolder } from '#cabinet/pages/build-pages'
import { pageRoutes } from '#cabinet/pages/page-routes'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { unthrottled } from '../support/no-throttles.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
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
