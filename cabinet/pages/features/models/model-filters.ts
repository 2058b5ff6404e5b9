import { compareRubles } from '../../money/rubles.ts'
import { type Model, priceOf, tokenClasses } from './model.ts'

export const contexts = [8_000, 32_000, 128_000, 200_000, 1_000_000] as const
/** Rubles per 1M tokens; `0`: free in every class. */
export const prices = ['0', '50', '100', '300', '1000'] as const
/** Tokens of one response. */
export const outputs = [4_000, 8_000, 16_000, 32_000, 64_000, 128_000] as const
export const capabilities = ['tools', 'structured_output', 'reasoning'] as const
export const modalities = ['text', 'image', 'audio', 'file', 'video'] as const
export const kinds = ['chat', 'embedding'] as const
export const orders = ['name', 'cheap', 'context'] as const

/** Characters of a search; more are cut off. */
export const searchLengthMax = 100
/** Words of a search that count, each once. */
const searchWordsMax = 8

/** The chosen filters; `undefined`: everything. */
export type ModelFilters = {
  readonly text: string
  readonly provider: string | undefined
  readonly kind: (typeof kinds)[number] | undefined
  readonly modality: (typeof modalities)[number] | undefined
  /** Those that a model must have, all of them. */
  readonly capabilities: readonly (typeof capabilities)[number][]
  readonly context: (typeof contexts)[number] | undefined
  readonly output: (typeof outputs)[number] | undefined
  readonly price: (typeof prices)[number] | undefined
  readonly outputPrice: (typeof prices)[number] | undefined
  readonly country: string | undefined
  readonly order: (typeof orders)[number]
}

/** The filters of an address; anything else in it, or an invalid value, is ignored. Pure. */
export function readFilters(search: string): ModelFilters {
  const asked = new URLSearchParams(search)
  const wanted = asked.getAll('capability')
  return {
    text: (asked.get('q') ?? '').slice(0, searchLengthMax).toWellFormed(),
    provider: asked.get('provider') || undefined,
    kind: kinds.find((one) => one === asked.get('kind')),
    modality: modalities.find((one) => one === asked.get('modality')),
    capabilities: capabilities.filter((one) => wanted.includes(one)),
    context: contexts.find((one) => String(one) === asked.get('context')),
    output: outputs.find((one) => String(one) === asked.get('max_output')),
    price: prices.find((one) => one === asked.get('price')),
    outputPrice: prices.find((one) => one === asked.get('output_price')),
    country: asked.get('country') || undefined,
    order: orders.find((one) => one === asked.get('order')) ?? 'name',
  }
}

/** The address of these filters and of the models chosen for a comparison, without anything not chosen. Pure. */
export function writeFilters(filters: ModelFilters, compared: readonly string[]): string {
  const named: Readonly<Record<string, string | number | undefined>> = {
    q: filters.text,
    provider: filters.provider,
    kind: filters.kind,
    modality: filters.modality,
    context: filters.context,
    max_output: filters.output,
    price: filters.price,
    output_price: filters.outputPrice,
    country: filters.country,
    order: filters.order === 'name' ? undefined : filters.order,
  }
  const written = Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as Written],
  )
  const search = new URLSearchParams([
    ...written,
    ...filters.capabilities.map((one): Written => ['capability', one]),
    ...compared.map((id): Written => ['model', id]),
  ]).toString()
  return search === '' ? '' : `?${search}`
}

type Written = [name: string, value: string]

/** How many filters are set, apart from the search text. Pure. */
export function countSet({ text: _, order: __, capabilities: wanted, ...single }: ModelFilters): number {
  return Object.values(single).filter((value) => value !== undefined).length + wanted.length
}

/** The matching models of the catalog, in the chosen order. Pure. */
export function findModels(models: readonly Model[], filters: ModelFilters): readonly Model[] {
  const words = wordsOf(filters.text)
  const found = models.filter((model) => isChosen(model, filters) && hasWords(model, words))
  if (filters.order === 'cheap')
    return found.toSorted((a, b) => compareRubles(a.pricing.input, b.pricing.input))
  if (filters.order === 'context')
    return found.toSorted((a, b) => (b.context_length ?? 0) - (a.context_length ?? 0))
  return found
}

function isChosen(model: Model, filters: ModelFilters): boolean {
  const { provider, kind, modality, context, output, country } = filters
  return (
    (provider === undefined || model.provider === provider) &&
    (kind === undefined || model.type === kind) &&
    (modality === undefined || model.input_modalities.includes(modality)) &&
    filters.capabilities.every((one) => model.capabilities?.includes(one) === true) &&
    (context === undefined || (model.context_length ?? 0) >= context) &&
    (output === undefined || (model.max_output_tokens ?? 0) >= output) &&
    (country === undefined || model.countries?.includes(country) === true) &&
    isWithin(model, 'input', filters.price) &&
    (model.type === 'embedding' || isWithin(model, 'output', filters.outputPrice))
  )
}

function isWithin(model: Model, tokenClass: 'input' | 'output', price: ModelFilters['price']): boolean {
  if (price === undefined) return true
  return price === '0' ? isFree(model) : compareRubles(priceOf(model.pricing, tokenClass), price) <= 0
}

/** Whether requests to it cost nothing now, whatever kinds of tokens they use. */
function isFree({ free, type, pricing }: Model): boolean {
  const classes = tokenClasses.filter(
    (each) => type === 'chat' || (each !== 'output' && each !== 'reasoning'),
  )
  const sums = [...classes.map((each) => priceOf(pricing, each)), pricing.per_request]
  return free || sums.every((sum) => compareRubles(sum, '0') === 0)
}

function wordsOf(text: string): readonly string[] {
  return [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, searchWordsMax)
}

function hasWords({ id, name, description }: Model, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const text = `${id} ${name} ${description}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
