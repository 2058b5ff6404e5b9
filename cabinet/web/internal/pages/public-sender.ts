import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type PublicPage, type PublicSite, writePublicDocument } from '../../../pages/public-document.ts'
import { createKeptDocuments, type Encoding } from './kept-documents.ts'
import { pageHeaders } from './page-headers.ts'
import { preferencesOf } from './request-preferences.ts'
import { etagOf, sendDocument } from './send-document.ts'

/** `isKept`: the page stays as it is while the process runs. It is written and compressed only once. */
export type SentPage = PublicPage & { readonly isKept?: true }

/** Responds with a public page in the reader's theme. Browsers keep it, and ask each time whether it has changed. */
export type SendPublicPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  page: SentPage,
  status?: number,
) => FastifyReply

/** Sends pages of this site. The language is the page's: its address names it. */
export function createPublicSender(app: FastifyInstance, site: PublicSite): SendPublicPage {
  const headers = pageHeaders([])
  const keptOf = createKeptDocuments(site)
  return (request, reply, page, status = 200) => {
    const { theme } = preferencesOf(request, app)
    reply.headers(headers).code(status)
    if (page.isKept !== true) {
      const body = writePublicDocument(page, site, theme)
      return sendDocument(request, reply, { body, etag: etagOf(body), vary: 'cookie' })
    }
    const encoding = encodingOf(request.headers['accept-encoding'])
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return sendDocument(request, reply, { ...keptOf(page, theme)[encoding], vary: 'cookie, accept-encoding' })
  }
}

/** The smallest that the caller accepts. */
function encodingOf(accepted: string | string[] | undefined): Encoding {
  const names = String(accepted ?? '').split(',')
  const accepts = (wanted: string) =>
    names.some((name) => new RegExp(`^\\s*${wanted}\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*$)|$)`).test(name))
  if (accepts('br')) return 'br'
  return accepts('gzip') ? 'gzip' : 'identity'
}
