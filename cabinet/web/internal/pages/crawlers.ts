import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BuiltDoc } from '../../../pages/built-public-pages.ts'
import { escapeHtml } from '../../../pages/html.ts'
import { addressIn } from '../../../pages/public-addresses.ts'
import { productName, type RouteTable } from '../../../pages/route-table.ts'

export type CrawledSite = {
  /** Without a slash at its end. */
  readonly origin: string
  readonly docs: readonly BuiltDoc[]
  readonly routes: RouteTable
  /** Further public addresses, below this site, encoded. They may change while the process runs. */
  readonly listMore: () => Promise<readonly string[]>
}

const minutes = 'public, max-age=300'

/** Serves what search engines and coding agents read first: `/robots.txt`, `/sitemap.xml` and `/llms.txt`. */
export function serveCrawlers(app: FastifyInstance, site: CrawledSite): void {
  const robots = writeRobots(site)
  const llms = writeLlms(site)
  app.get('/robots.txt', (_request, reply) => sendText(reply, robots))
  app.get('/llms.txt', (_request, reply) => sendText(reply, llms))
  app.get('/sitemap.xml', async (_request, reply) => {
    const addresses = [...staticAddresses(site), ...(await site.listMore())]
    return reply
      .type('application/xml; charset=utf-8')
      .header('cache-control', minutes)
      .send(writeSitemap(site.origin, addresses))
  })
}

function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/plain; charset=utf-8').header('cache-control', minutes).send(text)
}

/** Pages that need a session, or begin one, are not for search engines. */
function writeRobots({ origin, routes }: CrawledSite): string {
  const closed = Object.entries(routes).filter(([, { area }]) => area !== 'public')
  const folders = [...new Set(closed.map(([path]) => path.split('/')[1]))]
  const lines = ['api', ...folders].map((folder) => `Disallow: /${folder}`)
  return `User-agent: *\n${lines.join('\n')}\nSitemap: ${origin}/sitemap.xml\n`
}

/** Without addresses that have variable parts: `listMore` knows their values. */
function staticAddresses({ docs, routes }: CrawledSite): readonly string[] {
  const pages = Object.entries(routes).filter(([path, { area }]) => area === 'public' && !/[:*]/.test(path))
  return [...pages.map(([path]) => path), ...docs.map(({ language, path }) => addressIn(language, path))]
}

function writeSitemap(origin: string, addresses: readonly string[]): string {
  const urls = [...new Set(addresses)].map(
    (address) => `<url><loc>${escapeHtml(`${origin}${address}`)}</loc></url>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('\n')}\n</urlset>\n`
}

/** By https://llmstxt.org: what the site is, and the Markdown of each page. */
function writeLlms({ origin, docs }: CrawledSite): string {
  const listOf = (wanted: 'ru' | 'en') =>
    docs
      .filter(({ language }) => language === wanted)
      .map(
        ({ title, description, markdownAddress }) =>
          `- [${title}](${origin}${markdownAddress}): ${description}`,
      )
  return [
    `# ${productName}`,
    '> An OpenAI-compatible API for models of many providers, with a prepaid balance in rubles. Every page of the documentation is also Markdown.',
    ['## Documentation', '', ...listOf('en')].join('\n'),
    ['## Документация', '', ...listOf('ru')].join('\n'),
    ['## Optional', '', `- [OpenAPI of the cabinet](${origin}/api/v1/openapi.json)`].join('\n'),
    '',
  ].join('\n\n')
}
