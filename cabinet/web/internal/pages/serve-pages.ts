import files from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pageRoutes } from '../../../pages/page-routes.ts'
import { findLanguage, findTheme, languageCookie, themeCookie } from '../../../pages/preferences.ts'
import { localeOf } from '../api/locale.ts'
import type { BuiltPages, Preferences } from './built-pages.ts'

const yearMs = 365 * 24 * 60 * 60 * 1000
const notBuilt = "The cabinet's pages have not been built here. Run: npm run pages\n"

export type Site = {
  /** `undefined`: not built, which page URLs then report. */
  readonly pages: BuiltPages | undefined
  /** The origin that the playground may call in addition to the cabinet. */
  readonly gatewayOrigin: string
}

/**
 * Serves the pages: documents that are never cached, in the caller's language and theme, and assets that anyone may
 * cache.
 *
 * @returns the response for unknown paths; `undefined` for programs.
 */
export function servePages(app: FastifyInstance, { pages, gatewayOrigin }: Site) {
  const policy = policyOf(gatewayOrigin)

  function answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('cache-control', 'no-store')
    if (pages === undefined) return reply.code(503).type('text/plain; charset=utf-8').send(notBuilt)
    const { isFound, html } = pages.render(pathOf(request), preferencesOf(request, app))
    return reply
      .code(isFound ? 200 : 404)
      .type('text/html; charset=utf-8')
      .headers({ 'content-security-policy': policy, vary: 'cookie, accept-language' })
      .send(html)
  }

  for (const path of Object.keys(pageRoutes)) app.get(path, answer)
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

/** A page may load only our files, and call only us and the gateway. Inline scripts do not run. */
function policyOf(gatewayOrigin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${gatewayOrigin}`,
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
