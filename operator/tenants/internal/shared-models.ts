import { covers } from '#core/keys/allowed-models'

/** The models that two lists allow, each with `<provider>/*` for all of a provider. In the order of the first. Pure. */
export function sharedModels(one: readonly string[], other: readonly string[]): readonly string[] {
  const shared = one.flatMap((item) =>
    other.some((its) => covers(its, item)) ? [item] : other.filter((its) => covers(item, its)),
  )
  return [...new Set(shared)]
}
