import { type Html, html } from '../../html.ts'
import { formatRoubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import { modelWords } from './messages.ts'
import { type Model, priceOf, type TokenClass } from './model.ts'

/** How the box of a field looks. */
export const box =
  'block w-full min-h-10 rounded-md border border-edge bg-surface px-3 py-2 text-base text-ink shadow-raised'

/** How a button looks, and a link that looks like one. */
export const button =
  'inline-flex min-h-10 max-w-full items-center justify-center rounded-md border border-line bg-raised px-4 py-2 font-medium text-ink no-underline shadow-raised hover:bg-hover'

/** A part of a page with a heading. `id`: unique on the page. */
export function sectionOf(id: string, title: string, body: Html, lead?: string): Html {
  return html`<section aria-labelledby="${id}" class="min-w-0 overflow-clip rounded-lg border border-line bg-surface shadow-raised">
<div class="px-5 pt-4 pb-1"><h2 id="${id}" class="text-lg">${title}</h2>${lead !== undefined && html`<p class="text-sm text-muted">${lead}</p>`}</div>
<div class="px-5 pt-2 pb-5">${body}</div>
</section>`
}

/** A table that scrolls in its box where it is too wide, also by keyboard. `dense`: as many rows as can be read. */
export function tableOf(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
  density: 'dense' | 'usual' = 'usual',
): Html {
  const padding = density === 'dense' ? 'py-0.5' : 'py-2'
  const cell = `border-b border-line px-3 ${padding} text-start align-middle`
  return html`<div class="overflow-x-auto" role="region" aria-label="${caption}" tabindex="0"><table class="w-full border-collapse text-sm"><caption class="sr-only">${caption}</caption>
<thead><tr class="text-muted">${heads.map((head) => html`<th scope="col" class="${cell} font-medium">${head}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([name, ...cells]) =>
      html`<tr><th scope="row" class="${cell} font-medium">${name}</th>${cells.map((one) => html`<td class="${cell}">${one}</td>`)}</tr>
`,
  )}</tbody></table></div>`
}

/** Names and their values. */
export function factListOf(facts: readonly (readonly [string, string | Html])[]): Html {
  return html`<dl class="grid">${facts.map(
    ([name, value]) =>
      html`<div class="flex min-h-11 items-center justify-between gap-4 border-b border-line py-1 last:border-b-0"><dt class="text-muted">${name}</dt><dd class="min-w-0 text-end wrap-anywhere">${value}</dd></div>`,
  )}</dl>`
}

/** An exact sum: `value` is as the API writes it. */
export function moneyOf(rubles: string, language: Language): Html {
  return html`<data value="${rubles}" class="whitespace-nowrap">${formatRoubles(rubles, language, 'exact')}</data>`
}

/** The present price of 1M tokens of a class. Embeddings have no output. */
export function priceText(model: Model, tokenClass: TokenClass, language: Language): Html | string {
  if (model.type === 'embedding' && (tokenClass === 'output' || tokenClass === 'reasoning')) return '—'
  return model.free ? modelWords[language].free : moneyOf(priceOf(model.pricing, tokenClass), language)
}

/** The present price of each request. */
export function requestPriceText({ free, pricing }: Model, language: Language): Html | string {
  return free ? modelWords[language].free : moneyOf(pricing.per_request, language)
}
