import type { Language } from '../../preferences.ts'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import type { Model, ModelDetails } from './model.ts'
import { capabilities, modalities } from './model-filters.ts'

/** What the catalog states of a model in words; "not specified" for what it does not know. Pure. */
export function factsOf(model: Model, language: Language): Readonly<Record<FactName, string>> {
  const words = modelWords[language]
  const { count } = formatsOf(language)
  const tokens = (number: number | null) => (number === null ? words.notLimited : count.format(number))
  const listed = (names: readonly string[] | null, none: string) =>
    names === null ? words.notLimited : names.length === 0 ? none : names.join(', ')
  return {
    kind: words.kinds[model.type],
    modality: listed(
      model.input_modalities.map((name) => nameIn(modalities, words.modalities, name)),
      words.notLimited,
    ),
    capabilities: listed(
      model.capabilities?.map((name) => nameIn(capabilities, words.capabilityNames, name)) ?? null,
      words.noCapabilities,
    ),
    context: tokens(model.context_length),
    output: model.type === 'chat' ? tokens(model.max_output_tokens) : '—',
    country: listed(model.countries?.map((code) => nameOfCountry(code, language)) ?? null, words.notLimited),
  }
}

export const factNames = ['kind', 'modality', 'capabilities', 'context', 'output', 'country'] as const

type FactName = (typeof factNames)[number]

/** How a model worked in the last 7 days: names and values; "no data" for too few measurements. Pure. */
export function measuredFacts(
  { last_week }: ModelDetails,
  language: Language,
): readonly (readonly [name: string, value: string])[] {
  const words = modelWords[language]
  const { seconds, percent } = formatsOf(language)
  const times = (of: typeof last_week.duration_ms) =>
    of === null
      ? words.noData
      : words.percentiles(
          seconds.format(of.p50 / 1000),
          of.p95 === null ? undefined : seconds.format(of.p95 / 1000),
        )
  const { first_token_ms, duration_ms, failed_share } = last_week
  return [
    [words.firstToken, times(first_token_ms)],
    [words.duration, times(duration_ms)],
    [words.failedShare, failed_share === null ? words.noData : percent.format(failed_share)],
  ]
}

/** A later release may name more than these pages know. */
function nameIn<Name extends string>(
  known: readonly Name[],
  names: Readonly<Record<Name, string>>,
  name: string,
): string {
  const found = known.find((one) => one === name)
  return found === undefined ? name : names[found]
}

/** A country of ISO 3166-1 in the reader's language; another text stays as it is. Pure. */
export function nameOfCountry(code: string, language: Language): string {
  if (!/^[A-Z]{2}$/.test(code)) return code
  return formatsOf(language).country.of(code) ?? code
}
