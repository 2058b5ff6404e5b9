import type { Trouble } from '#cabinet/gateway-report'

/** Troubles that no other model of the same provider can be spared. */
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
}

/**
 * What cannot be used now: each sick place as `<provider> <model>`, and the provider itself where its trouble is that
 * of all its models, or all of them that were ever asked are sick. Providers come first. Pure.
 */
export function unhealthyOf(places: readonly PlaceHealth[]): Readonly<Record<string, Trouble>> {
  const sick = places.flatMap(({ provider, model, trouble }) =>
    trouble === null ? [] : [[`${provider} ${model}`, trouble] as const],
  )
  if (sick.length === 0) return {} // as nearly always: this is asked four times a second
  const providers = new Map<string, Trouble>()
  for (const [provider, own] of Map.groupBy(places, (place) => place.provider)) {
    const troubles = own.map(({ trouble }) => trouble)
    const whole = troubles.find((trouble) => trouble !== null && providerWide.includes(trouble))
    const shared = troubles.includes(null) ? undefined : troubles[0]
    const trouble = whole ?? shared
    if (trouble) providers.set(provider, trouble)
  }
  return Object.fromEntries([...providers, ...sick])
}
