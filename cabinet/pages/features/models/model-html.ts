import { type Html, html } from '../../html.ts'
import { curlOf, javaScriptOf, pythonOf } from '../../kit/sample-code.ts'
import { rublesOf } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import { addressIn } from '../../public-addresses.ts'
import { connectWords } from '../connect/messages.ts'
import { connectClientIds, connectClients } from '../connect/snippets.ts'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import {
  costNanoOf,
  isPricedPerRequest,
  type Model,
  type ModelDetails,
  priceOf,
  type TokenClass,
  tokenClasses,
} from './model.ts'
import { factNames, factsOf } from './model-facts.ts'
import { pageOfModel } from './model-path.ts'
import { box, button, factListOf, moneyOf, sectionOf, tableOf } from './parts-html.ts'
import { findTypedCount } from './typed-count.ts'

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

/** Classes with their own price, now or in one of these. */
function shownClasses({ type, pricing }: Model, others: readonly Model['pricing'][]): readonly TokenClass[] {
  return tokenClasses.filter((each) => {
    if (each === 'input') return true
    if (each === 'output') return type === 'chat'
    return [pricing, ...others].some((one) => one[each] !== null)
  })
}

function pricesOf({ language, model }: Props): Html {
  const words = modelWords[language]
  if (model.free) return sectionOf('prices', words.prices, html`<p>${words.freeModel}</p>`)
  const { pricing, next_pricing: next, next_pricing_from: from } = model
  const classes = shownClasses(model, next === null ? [] : [next])
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
  const isPerRequest = isPricedPerRequest(next === null ? [pricing] : [pricing, next])
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
  const classes = shownClasses(model, pricings)
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

function measurementsOf({ language, details: { status, last_week } }: Props): Html {
  const words = modelWords[language]
  const { seconds, percent } = formatsOf(language)
  const times = (of: typeof last_week.duration_ms) =>
    of === null
      ? words.noData
      : words.percentiles(
          seconds.format(of.p50 / 1000),
          of.p95 === null ? undefined : seconds.format(of.p95 / 1000),
        )
  const { failed_share } = last_week
  return sectionOf(
    'measurements',
    words.measurements,
    factListOf([
      [words.state, words.statuses[status]],
      [words.firstToken, times(last_week.first_token_ms)],
      [words.duration, times(last_week.duration_ms)],
      [words.failedShare, failed_share === null ? words.noData : percent.format(failed_share)],
    ]),
    words.measurementsLead,
  )
}

const examples: Readonly<Record<TokenClass | 'requests', string>> = {
  input: '1000',
  cached_input: '0',
  cache_write: '0',
  output: '500',
  reasoning: '0',
  requests: '1000',
}
/** As the server's estimate accepts. */
const tokensMax = 1_000_000_000n

/** A form, so that it needs no script, which recalculates while the user types. */
function calculatorOf({ language, model, search }: Props): Html {
  const words = modelWords[language]
  const asked = new URLSearchParams(search)
  const classes = shownClasses(model, [])
  const typed = (each: TokenClass | 'requests') => (asked.get(each) ?? examples[each]).slice(0, 40)
  const count = (each: TokenClass | 'requests') => findTypedCount(typed(each), tokensMax)
  const tokens = Object.fromEntries(
    tokenClasses.map((each) => [each, classes.includes(each) ? count(each) : 0n]),
  )
  const isWhole = Object.values(tokens).every((each) => each !== undefined)
  const cost = isWhole ? costNanoOf(tokens as Readonly<Record<TokenClass, bigint>>, model.pricing) : undefined
  const requests = count('requests')
  const sum = (nano: bigint | undefined) => (nano === undefined ? '—' : moneyOf(rublesOf(nano), language))
  const fields = [...classes, 'requests' as const].map(
    (each) =>
      html`<label class="grid content-start gap-1.5 text-sm font-medium">${words.countNames[each]}<input name="${each}" value="${typed(each)}" inputmode="numeric" autocomplete="off" maxlength="40" class="${box}"></label>`,
  )
  return sectionOf(
    'calculator',
    words.calculator,
    html`<form data-live="cost" action="${addressIn(language, pageOfModel('/models', model.id))}" class="grid gap-4 sm:grid-cols-2">${fields}<button class="${button} sm:col-span-2">${words.calculate}</button></form>
<div id="cost" aria-live="polite" class="mt-5 rounded-md bg-sunken px-4">${
      isWhole && requests !== undefined
        ? factListOf([
            [words.costOfOne, sum(cost)],
            [words.costOfAll, sum(cost === undefined ? undefined : cost * requests)],
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
