import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PublicCatalog } from '../../../catalog/public-catalog.ts'
import {
  comparisonPage,
  modelListPage,
  modelPage,
  noModelPage,
  unavailablePage,
} from '../../../pages/model-documents.ts'
import { type Language, languages } from '../../../pages/preferences.ts'
import { addressIn } from '../../../pages/public-addresses.ts'
import type { PublicPage } from '../../../pages/public-document.ts'
import type { SendPublicPage } from './public-sender.ts'

export type ModelPagesDeps = {
  readonly catalog: PublicCatalog
  readonly send: SendPublicPage
  /** With `/v1`. */
  readonly gatewayBaseUrl: string
}

/** Lists that were asked for: those of the filters that visitors choose. */
const keptListsMax = 200
/** A longer search is not a filter of the page's form. */
const searchLengthMax = 2_000

/**
 * Serves the pages of models to everyone, from what the process already knows: no visitor causes a query. A removed
 * model is 410, and its page names the successor.
 */
export function serveModelPages(
  app: FastifyInstance,
  { catalog, send, gatewayBaseUrl }: ModelPagesDeps,
): void {
  const readList = createKeptLists(catalog)

  for (const language of languages) {
    const serve = (path: string, find: Find) =>
      app.get(addressIn(language, path), async (request, reply) => {
        const asked = { language, search: searchOf(request) }
        const { page, status } = await find(asked, request).catch(() => ({
          page: unavailablePage(language),
          status: 503,
        }))
        if (status === 503) reply.header('retry-after', '60')
        return sendIndexed(send, { request, reply, page, status })
      })

    serve('/models', async (asked) => ({ page: await readList(asked), status: 200 }))
    serve('/models/compare', async (asked) => ({
      page: comparisonPage((await catalog.list()).models, asked),
      status: 200,
    }))
    serve('/models/*', async (asked, { params }) => {
      const id = String((params as Readonly<Record<string, string>>)['*'])
      const found = await catalog.find(id)
      if (found?.state === 'listed')
        return { page: modelPage(found.model, found.details, { ...asked, gatewayBaseUrl }), status: 200 }
      const successor = found?.successor ?? null
      const isRemoved = found !== undefined
      return { page: noModelPage(id, language, { isRemoved, successor }), status: isRemoved ? 410 : 404 }
    })
  }
}

type Asked = { readonly language: Language; readonly search: string }

type Find = (
  asked: Asked,
  request: FastifyRequest,
) => Promise<{ readonly page: PublicPage; readonly status: number }>

/** Search engines keep one address of a page: not those of its filters, sums or errors. */
function sendIndexed(
  send: SendPublicPage,
  {
    request,
    reply,
    page,
    status,
  }: {
    readonly request: FastifyRequest
    readonly reply: FastifyReply
    readonly page: PublicPage
    readonly status: number
  },
): FastifyReply {
  if (status !== 200 || request.url.includes('?')) reply.header('x-robots-tag', 'noindex')
  return send(request, reply, page, status)
}

/** The page of each list that was asked for, until the catalog changes. */
function createKeptLists(catalog: PublicCatalog): (asked: Asked) => Promise<PublicPage> {
  let version = ''
  const kept = new Map<string, PublicPage>()
  return async (asked) => {
    const { models, version: now } = await catalog.list()
    if (now !== version) {
      version = now
      kept.clear()
    }
    const name = `${asked.language} ${asked.search}`
    const known = kept.get(name)
    if (known !== undefined) return known
    const page = modelListPage(models, asked)
    const [oldest] = kept.keys()
    if (kept.size >= keptListsMax && oldest !== undefined) kept.delete(oldest)
    kept.set(name, page)
    return page
  }
}

function searchOf({ url }: FastifyRequest): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at, at + searchLengthMax)
}
