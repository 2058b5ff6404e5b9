import type { Trouble } from '#cabinet/catalogue/gateway-report'

/** Troubles of all models of a provider, unless one of them answers. */
const providerWide: readonly Trouble[] = ['unauthorized', 'unreachable']

/** How a place where a model runs is now. */
export type PlaceHealth = {
  readonly provider: string
  /** Its name there. */
  readonly model: string
  /** It failed too often or its provider asked for it, and it has not answered well since. */
  readonly isResting: boolean
  /** Why it failed last, where it is sick; `null`: it is not. */
  readonly trouble: Trouble | null
  /** Its provider has answered well, here or elsewhere, what was sent after that trouble began. */
  readonly providerAnswers: boolean
}

/**
 * What cannot be used now: each sick place as `<provider> <model>`, and the provider itself where its trouble is that
 * of all its models and none has answered well since, or all that were ever asked are sick. Providers come first. Pure.
 */
export function unhealthyOf(places: readonly PlaceHealth[]): Readonly<Record<string, Trouble>> {
  const sick = places.flatMap(({ provider, model, trouble }) =>
    trouble === null ? [] : [[`${provider} ${model}`, trouble] as const],
  )
  if (sick.length === 0) return {} // as nearly always: this is asked four times a second
  const providers = new Map<string, Trouble>()
  for (const [provider, own] of Map.groupBy(places, (place) => place.provider)) {
    const whole = own.find(
      ({ trouble, providerAnswers }) =>
        trouble !== null && providerWide.includes(trouble) && !providerAnswers,
    )
    const isShared = own.every((place) => place.trouble !== null)
    const trouble = whole?.trouble ?? (isShared ? own[0]?.trouble : undefined)
    if (trouble) providers.set(provider, trouble)
  }
  return Object.fromEntries([...providers, ...sick])
}
