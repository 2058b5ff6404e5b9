import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type PublicPage, type PublicSite, writePublicDocument } from '../../../pages/public-document.ts'
import { pageHeaders } from './page-headers.ts'
import { preferencesOf } from './request-preferences.ts'

/** Responds with a public page in the reader's theme. Browsers keep it, and ask each time whether it has changed. */
export type SendPublicPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  page: PublicPage,
  status?: number,
) => FastifyReply

/** Sends pages of this site. The language is the page's: its address names it. */
export function createPublicSender(app: FastifyInstance, site: PublicSite): SendPublicPage {
  const headers = pageHeaders([])
  return (request, reply, page, status = 200) => {
    const text = writePublicDocument(page, site, preferencesOf(request, app).theme)
    return sendDocument(request, reply.headers(headers).code(status), { text, vary: 'cookie' })
  }
}

/** Responds with a document that browsers may keep, or 304 if the browser has it. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, vary }: { readonly text: string; readonly vary: string },
): FastifyReply {
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`
  reply.headers({ 'cache-control': 'no-cache', etag, vary })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type('text/html; charset=utf-8').send(text)
}
