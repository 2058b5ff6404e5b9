import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BuiltDoc } from '../../../pages/built-public-pages.ts'
import { trustedHtml } from '../../../pages/html.ts'
import { addressIn } from '../../../pages/public-addresses.ts'
import type { SendPublicPage, SentPage } from './public-sender.ts'

/** The addresses of a deployment, without a slash at their ends. */
export type OwnAddresses = {
  readonly cabinet: string
  /** Without `/v1`. */
  readonly gateway: string
}

/** The addresses in our documents, which are those of `npm start`. */
const documented: OwnAddresses = { cabinet: 'http://localhost:3000', gateway: 'http://localhost:8080' }

/** Serves the pages of the documentation, and the Markdown of each, with this deployment's addresses. */
export function serveDocs(
  app: FastifyInstance,
  docs: readonly BuiltDoc[],
  { send, addresses }: { readonly send: SendPublicPage; readonly addresses: OwnAddresses },
): void {
  for (const doc of docs) {
    const page = pageOf(doc, addresses)
    const address = addressIn(doc.language, doc.path)
    app.get(address, (request: FastifyRequest, reply: FastifyReply) => send(request, reply, page))
    app.get(`${address}/`, (_request, reply) => reply.redirect(address, 308))
    const markdown = withAddresses(doc.markdown, addresses)
    app.get(doc.markdownAddress, (_request, reply) =>
      reply
        .type('text/markdown; charset=utf-8')
        .headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' })
        .send(markdown),
    )
  }
}

function pageOf(doc: BuiltDoc, addresses: OwnAddresses): SentPage {
  const { language, path, languages, title, markdownAddress } = doc
  return {
    language,
    path,
    languages,
    title,
    markdownAddress,
    isKept: true,
    description: withAddresses(doc.description, addresses),
    body: trustedHtml(withAddresses(doc.body, addresses)),
  }
}

function withAddresses(text: string, { cabinet, gateway }: OwnAddresses): string {
  return text.replaceAll(documented.gateway, gateway).replaceAll(documented.cabinet, cabinet)
}
