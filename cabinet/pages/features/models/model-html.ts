import { type Html, html } from '../../html.ts'
import { curlOf, javaScriptOf, pythonOf } from '../../kit/sample-code.ts'
import { rublesOf } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import { addressIn } from '../../public-addresses.ts'
import { connectWords } from '../connect/messages.ts'
import { connectClientIds, connectClients } from '../connect/snippets.ts'
import { type CountName, calculate, exampleCounts } from './calculation.ts'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import { isPricedPerRequest, type Model, type ModelDetails, priceOf, shownClasses } from './model.ts'
import { factNames, factsOf, measuredFacts } from './model-facts.ts'
import { pageOfModel } from './model-path.ts'
import { box, button, factListOf, moneyOf, sectionOf, tableOf } from './parts-html.ts'

type Props = {
  readonly language: Language
  readonly model: Model
  readonly details: ModelDetails
  /** What the calculator was asked. */
  readonly search: string
  readonly gatewayBaseUrl: string
}

/** One model: what it is, its prices over time, how it works, and how to call it. Complete without a script. Pure. */
export function writeModel(props: Props): Html {
  const { language, model } = props
  const words = modelWords[language]
  const playground = `/app/playground?${new URLSearchParams({ model: model.id })}`
  return html`<p class="mb-3 text-sm"><a href="${addressIn(language, '/models')}">${words.allModels}</a></p>
<div class="mb-6 flex flex-wrap items-start justify-between gap-4"><div class="min-w-0"><h1 class="text-2xl wrap-anywhere"><bdi>${model.name}</bdi></h1>${model.description !== '' && html`<p class="mt-1 max-w-prose text-muted wrap-anywhere">${model.description}</p>`}</div>${model.type === 'chat' && html`<a href="${playground}" class="${button}">${words.tryIt}</a>`}</div>
<div class="grid gap-6 lg:grid-cols-2">
<div class="grid min-w-0 content-start gap-6">
${pricesOf(props)}
${calculatorOf(props)}
</div>
<div class="grid min-w-0 content-start gap-6">
${sectionOf(
  'facts',
  words.facts,
  factListOf([
    [words.id, html`<code class="font-mono text-sm break-all">${model.id}</code>`],
    [words.provider, model.provider],
    ...factNames.map((name) => [words.factNames[name], factsOf(model, language)[name]] as const),
  ]),
)}
${measurementsOf(props)}
${codeOf(props)}
</div>
</div>
<div class="mt-6 grid">${historyOf(props)}</div>`
}

function pricesOf({ language, model }: Props): Html {
  const words = modelWords[language]
  if (model.free) return sectionOf('prices', words.prices, html`<p>${words.freeModel}</p>`)
  const { pricing, next_pricing: next, next_pricing_from: from } = model
  const pricings = next === null ? [pricing] : [pricing, next]
  const classes = shownClasses(model.type, pricings)
  const money = (rubles: string) => moneyOf(rubles, language)
  const rows = classes.map((each) => [
    words.priceNames[each],
    money(priceOf(pricing, each)),
    ...(next === null ? [] : [money(priceOf(next, each))]),
  ])
  const perRequest = [
    words.priceNames.per_request,
    money(pricing.per_request),
    ...(next === null ? [] : [money(next.per_request)]),
  ]
  const isPerRequest = isPricedPerRequest(pricings)
  return sectionOf(
    'prices',
    words.prices,
    html`${tableOf(
      words.prices,
      [words.whatFor, words.priceNow, ...(next === null ? [] : [words.priceFrom])],
      isPerRequest ? [...rows, perRequest] : rows,
    )}${from !== null && html`<p class="pt-3 text-sm text-muted">${words.changesAt} ${timeOf(from, language)}</p>`}`,
    words.pricesLead,
  )
}

function historyOf({ language, model, details: { prices } }: Props): Html | false {
  const words = modelWords[language]
  if (prices.length < 2) return false
  const pricings = prices.map(({ pricing }) => pricing)
  const classes = shownClasses(model.type, [model.pricing, ...pricings])
  const isPerRequest = isPricedPerRequest(pricings)
  return sectionOf(
    'history',
    words.history,
    tableOf(
      words.history,
      [
        words.validFrom,
        words.priceState,
        ...classes.map((each) => words.priceNames[each]),
        ...(isPerRequest ? [words.priceNames.per_request] : []),
      ],
      prices.map(({ valid_from, state, pricing }) => [
        timeOf(valid_from, language),
        words.priceStates[state],
        ...classes.map((each) => moneyOf(priceOf(pricing, each), language)),
        ...(isPerRequest ? [moneyOf(pricing.per_request, language)] : []),
      ]),
    ),
    words.pricesLead,
  )
}

function timeOf(at: string, language: Language): Html {
  const zone = language === 'ru' ? 'МСК' : 'MSK'
  return html`<time datetime="${at}" class="whitespace-nowrap">${formatsOf(language).moscowTime.format(new Date(at))} ${zone}</time>`
}

function measurementsOf({ language, details }: Props): Html {
  const words = modelWords[language]
  const state = [words.state, words.statuses[details.status]] as const
  return sectionOf(
    'measurements',
    words.measurements,
    factListOf([state, ...measuredFacts(details, language)]),
    words.measurementsLead,
  )
}

/** A form, so that it needs no script, which recalculates while the user types. */
function calculatorOf({ language, model, search }: Props): Html {
  const words = modelWords[language]
  const asked = new URLSearchParams(search)
  const typed = (name: CountName) => (asked.get(name) ?? exampleCounts[name]).slice(0, 40)
  const calculation = calculate(model, typed)
  const { costOfOneNano: one, costOfAllNano: all } = calculation
  const fields = calculation.asked.map(
    (each) =>
      html`<label class="grid content-start gap-1.5 text-sm font-medium">${words.countNames[each]}<input name="${each}" value="${typed(each)}" inputmode="numeric" autocomplete="off" maxlength="40" class="${box}"></label>`,
  )
  return sectionOf(
    'calculator',
    words.calculator,
    html`<form data-live="cost" action="${addressIn(language, pageOfModel('/models', model.id))}" class="grid gap-4 sm:grid-cols-2">${fields}<button class="${button} sm:col-span-2">${words.calculate}</button></form>
<div id="cost" aria-live="polite" class="mt-5 rounded-md bg-sunken px-4">${
      one !== undefined && all !== undefined
        ? factListOf([
            [words.costOfOne, moneyOf(rublesOf(one), language)],
            [words.costOfAll, moneyOf(rublesOf(all), language)],
          ])
        : html`<p class="py-3 text-danger">${words.countWrong}</p>`
    }</div>`,
    words.calculatorLead,
  )
}

/** How to call it: each client's ready configuration; only embeddings have fewer. */
function codeOf({ language, model, gatewayBaseUrl }: Props): Html {
  const words = modelWords[language]
  const samples =
    model.type === 'embedding'
      ? embeddingCode(model, gatewayBaseUrl, language)
      : clientCode(model, gatewayBaseUrl, language)
  return sectionOf(
    'code',
    words.code,
    html`${samples.map(
      ([name, code], place) =>
        html`<details class="border-b border-line py-1 last:border-b-0"${place === 0 && html` open`}><summary class="min-h-8 cursor-pointer py-1 font-medium" translate="no">${name}</summary>${code}</details>`,
    )}`,
    words.codeLead,
  )
}

type Sample = readonly [name: string, code: Html]

function embeddingCode(model: Model, baseUrl: string, language: Language): readonly Sample[] {
  const body = { model: model.id, input: modelWords[language].examplePrompt }
  const request = { path: '/embeddings', body } as const
  return [
    ['curl', blockOf(curlOf(baseUrl, request), 'curl')],
    ['Python', blockOf(pythonOf(baseUrl, request), 'Python')],
    ['Node.js', blockOf(javaScriptOf(baseUrl, request), 'Node.js')],
  ]
}

/** Readers put their key in its place. */
const placeholder = 'sk-gateway-…'

function clientCode(model: Model, baseUrl: string, language: Language): readonly Sample[] {
  const words = connectWords[language]
  const connection = { baseUrl, key: placeholder, model: model.id, prompt: words.prompt }
  return connectClientIds.map((id) => {
    const { name, partsOf } = connectClients[id]
    const note = words.noteOf(id)
    const parts = partsOf(connection).map((part) =>
      part.kind === 'fields'
        ? factListOf(
            part.fields.map(([field, value]) => [
              field,
              html`<code class="font-mono text-sm break-all">${value}</code>`,
            ]),
          )
        : blockOf(part.code, part.kind === 'file' ? part.name : words[part.kind], name),
    )
    return [name, html`${parts}${note !== undefined && html`<p class="py-2 text-sm text-muted">${note}</p>`}`]
  })
}

/** Code that scrolls in its box. `of`: whose it is, so that names are unique. */
function blockOf(code: string, label: string, of?: string): Html {
  return html`<p class="pt-2 text-sm text-muted">${label}</p><pre tabindex="0" role="region" aria-label="${of === undefined ? label : `${of}: ${label}`}" class="my-2 overflow-x-auto rounded-md border border-line bg-sunken p-4 font-mono text-sm"><code>${code}</code></pre>`
}

/** A model that is gone, with its successor; or that never was there. Pure. */
export function writeNoModel(
  language: Language,
  {
    title,
    text,
    successor,
  }: { readonly title: string; readonly text: string; readonly successor: string | null },
): Html {
  const words = modelWords[language]
  return html`<h1 class="mb-4 text-2xl wrap-anywhere"><bdi>${title}</bdi></h1>
<p class="mb-4">${text}</p>
<p class="flex flex-wrap gap-3">${successor !== null && html`<a class="${button}" href="${addressIn(language, pageOfModel('/models', successor))}">${words.openSuccessor(successor)}</a>`}<a class="${button}" href="${addressIn(language, '/models')}">${words.openCatalog}</a></p>`
}
