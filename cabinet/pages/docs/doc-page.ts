import { type Html, html, trustedHtml } from '../html.ts'
import { addressIn } from '../public-addresses.ts'
import { docWords } from './messages.ts'
import type { Doc } from './read-docs.ts'

/** Two headings are found without a list. */
const contentsFrom = 3

/**
 * The content of a page of the documentation: search, the other pages, its headings, its text. Pure.
 * @param docs of its language, in their order
 * @param index address of the search index of its language
 */
export function writeDocPage(doc: Doc, docs: readonly Doc[], index: string): Html {
  const words = docWords[doc.language]
  return html`<div class="grid gap-6 lg:grid-cols-[15rem_minmax(0,1fr)] lg:gap-10 xl:grid-cols-[14rem_minmax(0,1fr)_13rem]">
<div class="min-w-0 text-sm">
<form role="search" data-search="${index}" class="invisible mb-4"><input type="search" maxlength="100" autocomplete="off" spellcheck="false" aria-label="${words.search}" placeholder="${words.search}" class="min-h-10 w-full rounded-md border border-edge bg-surface px-3 text-base text-ink"><p role="status" class="sr-only"></p><ul hidden class="mt-2 rounded-md border border-line bg-raised p-1"></ul></form>
<details class="rounded-md border border-line lg:hidden"><summary class="px-3 py-2 font-medium">${words.pages}</summary><nav aria-label="${words.pages}" class="px-2 pb-2">${listOf(doc, docs)}</nav></details>
<nav aria-label="${words.pages}" class="hidden lg:block">${listOf(doc, docs)}</nav>
</div>
${contentsOf(doc)}
<article class="prose">
${trustedHtml(doc.markup)}
<p class="mt-10 text-sm"><a href="${markdownAddressOf(doc)}">${words.markdown}</a></p>
</article>
</div>`
}

/** The address of the Markdown of a page: `/docs/errors.md`. Pure. */
export function markdownAddressOf({ language, path }: Pick<Doc, 'language' | 'path'>): string {
  return `${addressIn(language, path === '/docs' ? '/docs/index' : path)}.md`
}

const item = 'block rounded-md px-2 py-1.5 no-underline hover:bg-hover'

function listOf(shown: Doc, docs: readonly Doc[]): Html {
  return html`<ul>${docs.map(
    ({ title, path, language }) =>
      html`<li><a href="${addressIn(language, path)}"${
        path === shown.path
          ? html` aria-current="page" class="${item} bg-hover font-medium text-ink"`
          : html` class="${item} text-muted"`
      }>${title}</a></li>`,
  )}</ul>`
}

/** The headings of a page that has several, on wide screens. */
function contentsOf({ language, sections }: Doc): Html | undefined {
  const headings = sections.filter(({ level }) => level === 2)
  if (headings.length < contentsFrom) return undefined
  const words = docWords[language]
  return html`<nav aria-label="${words.onThisPage}" class="order-last hidden text-sm xl:block"><p class="mb-1 font-medium">${words.onThisPage}</p><ul>${headings.map(
    ({ anchor, title }) =>
      html`<li><a href="#${anchor}" class="block py-1 wrap-anywhere no-underline">${title}</a></li>`,
  )}</ul></nav>`
}
