import files from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RouteTable } from '../../../pages/route-table.ts'
import { type BuiltPages, findBuiltPages } from './built-pages.ts'
import type { ProblemOfError } from './model-pages.ts'
import { pageHeaders } from './page-headers.ts'
import { type PublicPages, servePublicPages } from './public-pages.ts'
import { preferencesOf } from './request-preferences.ts'
import { etagOf, sendDocument } from './send-document.ts'

const yearMs = 365 * 24 * 60 * 60 * 1000
const notBuilt = "The cabinet's pages have not been built here. Run: npm run pages\n"

export type Site = {
  /** Of the build. While it does not exist, page URLs report that. */
  readonly folder: string
  /** Its pages. */
  readonly routes: RouteTable
  /** The origins that pages may call in addition to their own. */
  readonly otherOrigins: readonly string[]
  /** Its public pages, which are prerendered. Administration has none. */
  readonly publicPages?: PublicPages
}

/**
 * Serves the pages: documents in the caller's language and theme, and assets that anyone may cache. Browsers keep the
 * documents of public pages and ask each time whether they have changed; they keep no other document, so that no page
 * of an ended session comes back.
 *
 * @param problemOf logs an error, and what it is for callers.
 * @returns the response for unknown paths; `undefined` for programs.
 */
export function servePages(
  app: FastifyInstance,
  { folder, routes, otherOrigins, publicPages }: Site,
  problemOf: ProblemOfError,
) {
  const pages = findBuiltPages(folder, routes)
  const headers = pageHeaders(otherOrigins)

  function answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('cache-control', 'no-store')
    if (pages === undefined) return reply.code(503).type('text/plain; charset=utf-8').send(notBuilt)
    const { isFound, isPublic, html } = pages.render(pathOf(request), preferencesOf(request, app))
    const vary = 'cookie, accept-language'
    reply.headers({ ...headers, vary }).code(isFound ? 200 : 404)
    if (isPublic) return sendDocument(request, reply, { body: html, etag: etagOf(html), vary })
    return reply.type('text/html; charset=utf-8').send(html)
  }

  for (const path of Object.keys(routes)) app.get(path, answer)
  if (pages !== undefined) serveFiles(app, pages)
  if (publicPages !== undefined) servePublicPages(app, { folder, routes, problemOf, ...publicPages })
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
