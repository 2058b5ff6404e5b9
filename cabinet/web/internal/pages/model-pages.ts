import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../../../api/problem.ts'
import type { ModelDetails, PricedModel } from '../../../catalog/catalog-contracts.ts'
import type { PublicCatalog } from '../../../catalog/public-catalog.ts'
import {
  addressOfModel,
  comparisonPage,
  modelListPage,
  modelListSearch,
  modelPage,
  noModelPage,
  unavailablePage,
} from '../../../pages/model-documents.ts'
import { type Language, languages } from '../../../pages/preferences.ts'
import { addressIn } from '../../../pages/public-addresses.ts'
import type { PublicPage } from '../../../pages/public-document.ts'
import type { SendPublicPage } from './public-sender.ts'
import { createRecentlyUsed } from './recently-used.ts'

export type ModelPagesDeps = {
  readonly catalog: PublicCatalog
  readonly send: SendPublicPage
  readonly problemOf: ProblemOfError
  /** With `/v1`. */
  readonly gatewayBaseUrl: string
}

/** The problem that an error is for callers; the error is logged. */
export type ProblemOfError = (error: unknown, request: FastifyRequest) => Problem

/** Lists that were asked for: those of the filters that visitors choose. */
const keptListsMax = 200
/** Pages of models; each has some 20 KB. */
const keptModelsMax = 1_000
/** A longer search is not a filter of the page's form. */
const searchLengthMax = 2_000

/**
 * Serves the pages of models to everyone, from what the process already knows: no visitor causes a query. A removed
 * model is 410, and its page names the successor.
 */
export function serveModelPages(
  app: FastifyInstance,
  { catalog, send, problemOf, gatewayBaseUrl }: ModelPagesDeps,
): void {
  const readList = createKeptLists(catalog)
  const writeModelPage = createKeptModelPages(gatewayBaseUrl)

  for (const language of languages) {
    const serve = (path: string, find: Find) =>
      app.get(addressIn(language, path), async (request, reply) => {
        const address = addressWithoutSlash(request)
        if (address !== undefined) return reply.redirect(addressIn(language, address), 308)
        const asked = { language, search: searchOf(request) }
        const { page, status } = await find(asked, request).catch((error: unknown) => ({
          page: unavailablePage(language),
          status: isAway(problemOf(error, request)) ? 503 : 500,
        }))
        if (status === 503) reply.header('retry-after', '60')
        return sendIndexed(send, { request, reply, page, status })
      })

    serve('/models', async (asked) => ({ page: await readList(asked), status: 200 }))
    serve('/models/compare', async (asked) => ({
      page: comparisonPage((await catalog.list()).models, asked),
      status: 200,
    }))
    serve('/models/*', async (asked, request) => {
      const id = restOf(request) ?? ''
      const found = await catalog.find(id)
      if (found?.state === 'listed') {
        const details = await found.details().catch((error: unknown) => {
          if (isAway(problemOf(error, request))) return undefined // prices are known, and matter most
          throw error
        })
        return { page: writeModelPage(found.model, details, asked), status: 200 }
      }
      const successor = found?.successor ?? null
      const isRemoved = found !== undefined
      return { page: noModelPage(id, language, { isRemoved, successor }), status: isRemoved ? 410 : 404 }
    })
  }
}

/** What the address has after `/models/`. */
function restOf({ params }: FastifyRequest): string | undefined {
  return (params as Readonly<Record<string, string | undefined>>)['*']
}

/** The one address of a page whose address was called with slashes at its end. */
function addressWithoutSlash(request: FastifyRequest): string | undefined {
  const rest = restOf(request)
  if (rest === undefined || !/(?:^|\/)$/.test(rest)) return undefined
  const id = rest.replace(/\/+$/, '')
  return id === '' ? '/models' : addressOfModel(id)
}

const isAway = ({ code }: Problem) => code === 'service_unavailable'

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
  const kept = createRecentlyUsed<string, PublicPage>(keptListsMax)
  return async ({ language, search }) => {
    const { models, version: now } = await catalog.list()
    if (now !== version) {
      version = now
      kept.clear()
    }
    const asked = { language, search: modelListSearch(models, search) }
    const name = `${language} ${asked.search}`
    const page = kept.get(name) ?? modelListPage(models, asked)
    kept.set(name, page)
    return page
  }
}

/** The page of a model without a query, until its details are read again or the catalog changes. */
function createKeptModelPages(gatewayBaseUrl: string) {
  type Kept = { readonly model: PricedModel; readonly details: ModelDetails; readonly page: PublicPage }
  const kept = createRecentlyUsed<string, Kept>(keptModelsMax)
  return (model: PricedModel, details: ModelDetails | undefined, asked: Asked): PublicPage => {
    const write = () => modelPage(model, details, { ...asked, gatewayBaseUrl })
    if (asked.search !== '' || details === undefined) return write()
    const name = `${asked.language} ${model.id}`
    const known = kept.get(name)
    if (known?.model === model && known.details === details) return known.page
    const page = write()
    kept.set(name, { model, details, page })
    return page
  }
}

function searchOf({ url }: FastifyRequest): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at, at + searchLengthMax)
}
