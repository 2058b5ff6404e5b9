import { modelWords } from './features/models/messages.ts'
import type { Model, ModelDetails } from './features/models/model.ts'
import { isPricedPerRequest } from './features/models/model.ts'
import { writeModel, writeNoModel } from './features/models/model-html.ts'
import { listSearchOf, writeComparison, writeModelList } from './features/models/model-list-html.ts'
import { pageOfModel } from './features/models/model-path.ts'
import { formatRoubles } from './money/rubles.ts'
import type { Language } from './preferences.ts'
import type { PublicPage } from './public-document.ts'

type Asked = {
  readonly language: Language
  /** Of the address, with its question mark, or empty. */
  readonly search: string
}

const titles = {
  list: { ru: 'Модели и цены', en: 'Models and prices' },
  comparison: { ru: 'Сравнение моделей', en: 'Compare models' },
  none: { ru: 'Модель', en: 'Model' },
} as const

/** The page of all models, with the filters that the address names. Pure. */
export function modelListPage(models: readonly Model[], asked: Asked): PublicPage {
  const { language } = asked
  const title = titles.list[language]
  return {
    language,
    title,
    path: '/models',
    description: modelWords[language].lead,
    body: writeModelList({ models, ...asked }, title),
  }
}

/** The part of an address that matters to the page of all models: with the same one the page is the same. Pure. */
export function modelListSearch(models: readonly Model[], search: string): string {
  return listSearchOf(search, models)
}

/** The page of up to four models that the address names. Pure. */
export function comparisonPage(models: readonly Model[], asked: Asked): PublicPage {
  const { language } = asked
  const title = titles.comparison[language]
  return {
    language,
    title,
    path: '/models/compare',
    description: modelWords[language].comparison,
    body: writeComparison({ models, ...asked }, title),
  }
}

/** What a model's page shows while nothing else can be read. */
const unknownDetails: ModelDetails = {
  prices: [],
  last_week: { from: '', to: '', failed_share: null, first_token_ms: null, duration_ms: null },
  status: 'no_data',
}

/** The page of a model; without details where they are unavailable. Pure. */
export function modelPage(
  model: Model,
  details: ModelDetails | undefined,
  asked: Asked & { readonly gatewayBaseUrl: string },
): PublicPage {
  const { language } = asked
  const words = modelWords[language]
  const { pricing } = model
  const money = (rubles: string) => formatRoubles(rubles, language, 'exact')
  const prices = words.pricesOf(
    money(pricing.input),
    model.type === 'embedding' ? undefined : money(pricing.output),
    isPricedPerRequest([pricing]) ? money(pricing.per_request) : undefined,
  )
  return {
    language,
    title: model.name,
    path: pageOfModel('/models', model.id),
    description: `${model.name}. ${model.free ? words.freeModel : prices}`,
    body: writeModel({ model, details: details ?? unknownDetails, ...asked }),
  }
}

/** The page of a model that is gone, or never was there. Pure. */
export function noModelPage(
  id: string,
  language: Language,
  found: { readonly isRemoved: boolean; readonly successor: string | null },
): PublicPage {
  const words = modelWords[language]
  const title = found.isRemoved ? id : titles.none[language]
  const text = found.isRemoved ? words.removed : words.noSuchModel
  return {
    language,
    title,
    path: pageOfModel('/models', id),
    description: text,
    body: writeNoModel(language, { title, text, successor: found.successor }),
  }
}

/** The page while the catalog cannot be read. Pure. */
export function unavailablePage(language: Language): PublicPage {
  const title = titles.list[language]
  const text = modelWords[language].unavailable
  return {
    language,
    title,
    path: '/models',
    description: text,
    body: writeNoModel(language, { title, text, successor: null }),
  }
}

/** The address of a model's public page, in the default language. Pure. */
export function addressOfModel(id: string): string {
  return pageOfModel('/models', id)
}

/** The addresses of all public pages of models, in the default language. Pure. */
export function addressesOfModels(models: readonly { readonly id: string }[]): readonly string[] {
  return ['/models', ...models.map(({ id }) => pageOfModel('/models', id))]
}
