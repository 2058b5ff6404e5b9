import { type Html, html } from '../../html.ts'
import { formatRoubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import { addressIn } from '../../public-addresses.ts'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import { isPricedPerRequest, type Model, readCompared, tokenClasses } from './model.ts'
import { factNames, factsOf, nameOfCountry } from './model-facts.ts'
import {
  capabilities,
  contexts,
  findModels,
  kinds,
  type ModelFilters,
  modalities,
  orders,
  outputs,
  prices,
  readFilters,
  searchLengthMax,
  writeFilters,
} from './model-filters.ts'
import { pageOfModel } from './model-path.ts'
import { box, button, priceText, requestPriceText, tableOf } from './parts-html.ts'

/** However long the catalog is. */
const rowsPerPage = 100

type Props = { readonly language: Language; readonly models: readonly Model[]; readonly search: string }

/** The catalog: its filters are a form, so they need no script. Pure. */
export function writeModelList({ language, models, search }: Props, title: string): Html {
  const words = modelWords[language]
  const filters = readFilters(search)
  return html`<h1 class="text-2xl">${title}</h1>
<p class="mt-1 mb-6 max-w-prose text-muted">${words.lead}</p>
<div class="grid items-start gap-4 lg:grid-cols-[13rem_minmax(0,1fr)]">
${formOf(filters, { language, models })}
${foundOf(filters, { language, models, search })}
</div>`
}

/**
 * The part of an address that matters to the list: addresses with the same one have the same page. It is short, whatever
 * the address was. Pure.
 */
export function listSearchOf(search: string, models: readonly Model[]): string {
  const compared = readCompared(search).filter((id) => models.some((one) => one.id === id))
  return searchOf(readFilters(search), compared, readPage(search, pageCountOf(models.length)))
}

function searchOf(filters: ModelFilters, compared: readonly string[], page: number): string {
  const search = new URLSearchParams(writeFilters(filters, compared))
  if (page > 1) search.set('page', String(page))
  return search.size === 0 ? '' : `?${search}`
}

const pageCountOf = (modelCount: number) => Math.max(1, Math.ceil(modelCount / rowsPerPage))

function readPage(search: string, pageCount: number): number {
  const asked = Number(new URLSearchParams(search).get('page'))
  return Number.isInteger(asked) ? Math.min(Math.max(asked, 1), pageCount) : 1
}

/** The matching models, a page of them. The script puts this in place of the former one while the user types. */
function foundOf(filters: ModelFilters, { language, models, search }: Props): Html {
  const words = modelWords[language]
  const found = findModels(models, filters)
  const pageCount = pageCountOf(found.length)
  const page = readPage(search, pageCount)
  const shown = found.slice((page - 1) * rowsPerPage, page * rowsPerPage)
  const compared = readCompared(search)
  return html`<form id="found" action="${addressIn(language, '/models/compare')}" class="grid min-w-0 gap-3">
<div class="flex min-h-8 flex-wrap items-center gap-3 text-sm text-muted"><p role="status" class="me-auto">${words.found(found.length)}</p><p>${words.chooseToCompare}</p><button class="${button} min-h-8 py-1">${words.compare}</button></div>
<div class="min-w-0 overflow-clip rounded-lg border border-line bg-surface shadow-raised">${
    shown.length === 0
      ? html`<p class="p-5">${words.nothingFound} <a href="${addressIn(language, '/models')}">${words.reset}</a></p>`
      : tableOf(
          words.listCaption,
          [words.model, words.context, words.output, words.inputPrice, words.outputPrice],
          shown.map((model) => rowOf(model, language, compared)),
          'dense',
        )
  }</div>
${pageCount > 1 && pagesOf(filters, { language, compared, page, pageCount })}
${compared.filter((id) => models.some((one) => one.id === id) && !shown.some((one) => one.id === id)).map((id) => html`<input type="hidden" name="model" value="${id}">`)}
</form>`
}

function rowOf(model: Model, language: Language, compared: readonly string[]): readonly (string | Html)[] {
  const words = modelWords[language]
  const { id, name } = model
  const { count } = formatsOf(language)
  const tokens = (limit: number | null) => (limit === null ? '—' : count.format(limit))
  return [
    html`<span class="flex min-w-40 items-center gap-x-2"><input type="checkbox" name="model" value="${id}" aria-label="${words.compareModel(name)}" class="size-6 shrink-0 accent-accent"${compared.includes(id) && html` checked`}><a href="${addressIn(language, pageOfModel('/models', id))}" class="line-clamp-1 break-all">${name}</a>${name !== id && html`<code class="line-clamp-1 min-w-0 font-mono text-xs font-normal break-all text-muted">${id}</code>`}</span>`,
    tokens(model.context_length),
    tokens(model.max_output_tokens),
    isPricedPerRequest([model.pricing])
      ? html`${priceText(model, 'input', language)} <span class="text-xs text-muted">${words.priceNames.per_request}: ${requestPriceText(model, language)}</span>`
      : priceText(model, 'input', language),
    priceText(model, 'output', language),
  ]
}

function pagesOf(
  filters: ModelFilters,
  {
    language,
    compared,
    page,
    pageCount,
  }: {
    readonly language: Language
    readonly compared: readonly string[]
    readonly page: number
    readonly pageCount: number
  },
): Html {
  const words = modelWords[language]
  const address = (to: number) => {
    return `${addressIn(language, '/models')}${searchOf(filters, compared, to)}`
  }
  return html`<p class="flex flex-wrap items-center justify-center gap-4 text-sm">${
    page > 1 && html`<a href="${address(page - 1)}" rel="prev">${words.previousPage}</a>`
  }<span>${words.page(page, pageCount)}</span>${
    page < pageCount && html`<a href="${address(page + 1)}" rel="next">${words.nextPage}</a>`
  }</p>`
}

function formOf(filters: ModelFilters, { language, models }: Omit<Props, 'search'>): Html {
  const words = modelWords[language]
  const { count } = formatsOf(language)
  const providers = [...new Set(models.map(({ provider }) => provider))].toSorted()
  const countries = [...new Set(models.flatMap((model) => model.countries ?? []))].toSorted()
  const tokens = (limit: number) => [limit, words.contextFrom(count.format(limit))] as const
  const price = (one: (typeof prices)[number]) =>
    [one, one === '0' ? words.free : words.upTo(formatRoubles(one, language))] as const
  return html`<form data-live="found" action="${addressIn(language, '/models')}" role="search" class="grid grid-cols-2 content-start gap-3 rounded-lg border border-line bg-surface p-4 shadow-raised lg:grid-cols-1">
<label class="col-span-full grid gap-1.5 text-sm font-medium">${words.search}<input name="q" type="search" value="${filters.text}" placeholder="${words.searchExample}" maxlength="${searchLengthMax}" autocomplete="off" spellcheck="false" class="${box}"></label>
${choiceOf('provider', words.provider, filters.provider, [['', words.anyProvider], ...providers.map((one) => [one, one] as const)])}
${choiceOf('kind', words.kind, filters.kind, [['', words.anyKind], ...kinds.map((one) => [one, words.kinds[one]] as const)])}
${choiceOf('modality', words.modality, filters.modality, [['', words.anyModality], ...modalities.map((one) => [one, words.modalities[one]] as const)])}
<fieldset class="col-span-full grid gap-1.5"><legend class="mb-1.5 text-sm font-medium">${words.capabilities}</legend>${capabilities.map(
    (one) =>
      html`<label class="flex items-center gap-3 text-sm"><input type="checkbox" name="capability" value="${one}" class="size-6 shrink-0 accent-accent"${filters.capabilities.includes(one) && html` checked`}>${words.capabilityNames[one]}</label>`,
  )}</fieldset>
${choiceOf('context', words.context, filters.context, [['', words.anyContext], ...contexts.map(tokens)])}
${choiceOf('max_output', words.output, filters.output, [['', words.anyContext], ...outputs.map(tokens)])}
${choiceOf('price', words.price, filters.price, [['', words.anyPrice], ...prices.map(price)])}
${choiceOf('output_price', words.outputPriceTo, filters.outputPrice, [['', words.anyPrice], ...prices.map(price)])}
${(countries.length > 0 || filters.country !== undefined) && choiceOf('country', words.country, filters.country, [['', words.anyCountry], ...countries.map((one) => [one, nameOfCountry(one, language)] as const)])}
${choiceOf(
  'order',
  words.order,
  filters.order,
  orders.map((one) => [one, words.orders[one]] as const),
)}
<button class="${button} col-span-full">${words.show}</button>
</form>`
}

/** `undefined` is the first option. A value that the catalog lacks is visible, so that the user can clear it. */
function choiceOf(
  name: string,
  label: string,
  value: string | number | undefined,
  options: readonly (readonly [string | number, string])[],
): Html {
  const known = value === undefined || options.some(([one]) => one === value)
  const all = known ? options : [...options, [value, String(value)] as const]
  return html`<div class="grid min-w-0 content-start gap-1.5"><label for="filter-${name}" class="text-sm font-medium">${label}</label><select id="filter-${name}" name="${name}" class="${box}">${all.map(
    ([one, word]) => html`<option value="${one}"${one === value && html` selected`}>${word}</option>`,
  )}</select></div>`
}

/** Up to four models next to each other. Pure. */
export function writeComparison({ language, models, search }: Props, title: string): Html {
  const words = modelWords[language]
  const compared = readCompared(search).flatMap((id) => models.find((one) => one.id === id) ?? [])
  const list = addressIn(language, '/models')
  return html`<p class="mb-3 text-sm"><a href="${list}">${words.allModels}</a></p>
<h1 class="mb-6 text-2xl">${title}</h1>
${
  compared.length === 0
    ? html`<p>${words.nothingToCompare}</p>`
    : html`<div class="rounded-lg border border-line bg-surface shadow-raised">${tableOf(
        words.comparison,
        [words.property, ...compared.map(({ name }) => name)],
        [
          [
            words.id,
            ...compared.map(
              ({ id }) =>
                html`<a href="${addressIn(language, pageOfModel('/models', id))}" class="wrap-anywhere">${id}</a>`,
            ),
          ],
          ...factNames.map((name) => [
            words.factNames[name],
            ...compared.map((model) => factsOf(model, language)[name]),
          ]),
          ...tokenClasses.map((name) => [
            `${words.priceNames[name]}, ${words.perMillion}`,
            ...compared.map((model) => priceText(model, name, language)),
          ]),
          ...(isPricedPerRequest(compared.map(({ pricing }) => pricing))
            ? [[words.priceNames.per_request, ...compared.map((model) => requestPriceText(model, language))]]
            : []),
        ],
      )}</div>`
}`
}
