import { createHash } from 'node:crypto'
import files from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findLanguage, findTheme, languageCookie, themeCookie } from '../../../pages/preferences.ts'
import type { RouteTable } from '../../../pages/route-table.ts'
import { localeOf } from '../api/locale.ts'
import { type BuiltPages, findBuiltPages, type Preferences } from './built-pages.ts'

const yearMs = 365 * 24 * 60 * 60 * 1000
const notBuilt = "The cabinet's pages have not been built here. Run: npm run pages\n"

export type Site = {
  /** Of the build. While it does not exist, page URLs report that. */
  readonly folder: string
  /** Its pages. */
  readonly routes: RouteTable
  /** The origins that pages may call in addition to their own. */
  readonly otherOrigins: readonly string[]
}

/**
 * Serves the pages: documents in the caller's language and theme, and assets that anyone may cache. Browsers keep the
 * documents of public pages and ask each time whether they have changed; they keep no other document, so that no page
 * of an ended session comes back.
 *
 * @returns the response for unknown paths; `undefined` for programs.
 */
export function servePages(app: FastifyInstance, { folder, routes, otherOrigins }: Site) {
  const pages = findBuiltPages(folder, routes)
  const policy = policyOf(otherOrigins)

  function answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('cache-control', 'no-store')
    if (pages === undefined) return reply.code(503).type('text/plain; charset=utf-8').send(notBuilt)
    const { isFound, isPublic, html } = pages.render(pathOf(request), preferencesOf(request, app))
    reply.headers({
      'content-security-policy': policy,
      'permissions-policy': permissions,
      vary: 'cookie, accept-language',
    })
    if (isPublic) {
      const etag = `"${createHash('sha256').update(html).digest('base64url')}"`
      reply.headers({ 'cache-control': 'no-cache', etag })
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    }
    return reply
      .code(isFound ? 200 : 404)
      .type('text/html; charset=utf-8')
      .send(html)
  }

  for (const path of Object.keys(routes)) app.get(path, answer)
  if (pages !== undefined) serveFiles(app, pages)
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined =>
    pages !== undefined && wantsPage(request) ? answer(request, reply) : undefined
}

function serveFiles(app: FastifyInstance, { assetsFolder, icon }: BuiltPages): void {
  app.register(files, {
    root: assetsFolder,
    prefix: '/assets/',
    decorateReply: false,
    preCompressed: true,
    index: false,
    immutable: true,
    maxAge: yearMs,
  })
  app.get('/icon.svg', (_request, reply) =>
    reply.type('image/svg+xml').header('cache-control', 'public, max-age=86400').send(icon),
  )
}

/** Paths for programs, whose responses have another format. */
const ofPrograms = /^\/(?:api|v1|assets|dev)(?:\/|$)/

/** Whether a browser navigates here. */
function wantsPage(request: FastifyRequest): boolean {
  if (request.method !== 'GET') return false
  return !ofPrograms.test(pathOf(request)) && request.headers.accept?.includes('text/html') === true
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? '/'
}

function preferencesOf(request: FastifyRequest, app: FastifyInstance): Preferences {
  const { headers } = request
  // Cookies are not parsed for requests that Fastify itself rejects.
  const cookies = request.cookies ?? app.parseCookie(headers.cookie ?? '')
  return {
    language: findLanguage(cookies[languageCookie]) ?? localeOf(headers['accept-language']),
    theme: findTheme(cookies[themeCookie]) ?? 'system',
  }
}

/** What the pages never ask a browser for, so that nothing on them can. */
const permissions = [
  'camera',
  'display-capture',
  'geolocation',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
]
  .map((feature) => `${feature}=()`)
  .join(', ')

/** A page may load only our files, and call only us and these origins. Inline scripts do not run. */
function policyOf(otherOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...otherOrigins].join(' ')}`,
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
