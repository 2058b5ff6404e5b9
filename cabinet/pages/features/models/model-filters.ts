import { compareRubles } from '../../money/rubles.ts'
import { type Model, priceOf, tokenClasses } from './model.ts'

export const contexts = [8_000, 32_000, 128_000, 200_000, 1_000_000] as const
/** Rubles per 1M input tokens; `0`: free in every class. */
export const prices = ['0', '50', '100', '300', '1000'] as const
export const modalities = ['text', 'image', 'audio', 'file', 'video'] as const
export const kinds = ['chat', 'embedding'] as const
export const orders = ['name', 'cheap', 'context'] as const

/** The chosen filters; `undefined`: everything. */
export type ModelFilters = {
  readonly text: string
  readonly provider: string | undefined
  readonly kind: (typeof kinds)[number] | undefined
  readonly modality: (typeof modalities)[number] | undefined
  readonly context: (typeof contexts)[number] | undefined
  readonly price: (typeof prices)[number] | undefined
  readonly order: (typeof orders)[number]
}

/** The filters of an address; anything else in it, or an invalid value, is ignored. Pure. */
export function readFilters(search: string): ModelFilters {
  const asked = new URLSearchParams(search)
  return {
    text: asked.get('q') ?? '',
    provider: asked.get('provider') || undefined,
    kind: kinds.find((one) => one === asked.get('kind')),
    modality: modalities.find((one) => one === asked.get('modality')),
    context: contexts.find((one) => String(one) === asked.get('context')),
    price: prices.find((one) => one === asked.get('price')),
    order: orders.find((one) => one === asked.get('order')) ?? 'name',
  }
}

/** The address of these filters, without those not chosen. Pure. */
export function writeFilters({ text, order, ...chosen }: ModelFilters): string {
  const all = { q: text, ...chosen, order: order === 'name' ? undefined : order }
  const written = Object.entries(all).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  const search = new URLSearchParams(written).toString()
  return search === '' ? '' : `?${search}`
}

/** The matching models of the catalog, in the chosen order. Pure. */
export function findModels(models: readonly Model[], filters: ModelFilters): readonly Model[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = models.filter((model) => isChosen(model, filters) && hasWords(model, words))
  if (filters.order === 'cheap')
    return found.toSorted((a, b) => compareRubles(a.pricing.input, b.pricing.input))
  if (filters.order === 'context')
    return found.toSorted((a, b) => (b.context_length ?? 0) - (a.context_length ?? 0))
  return found
}

function isChosen(model: Model, { provider, kind, modality, context, price }: ModelFilters): boolean {
  return (
    (provider === undefined || model.provider === provider) &&
    (kind === undefined || model.type === kind) &&
    (modality === undefined || model.input_modalities.includes(modality)) &&
    (context === undefined || (model.context_length ?? 0) >= context) &&
    (price === undefined || (price === '0' ? isFree(model) : compareRubles(model.pricing.input, price) <= 0))
  )
}

/** Whether requests to it cost nothing now, whatever kinds of tokens they use. */
function isFree({ free, type, pricing }: Model): boolean {
  const classes = tokenClasses.filter(
    (each) => type === 'chat' || (each !== 'output' && each !== 'reasoning'),
  )
  const sums = [...classes.map((each) => priceOf(pricing, each)), pricing.per_request]
  return free || sums.every((sum) => compareRubles(sum, '0') === 0)
}

function hasWords({ id, name, description }: Model, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const text = `${id} ${name} ${description}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
