import type { Refusal } from '#core/errors/refusal'

/** A rejection that names its field by another path, in its message, too. */
export function withRenamedParam(refusal: Refusal, pathOf: (path: string) => string): Refusal {
  const { param, message } = refusal
  if (param === null) return refusal
  const own = pathOf(param)
  return { ...refusal, param: own, message: message.replaceAll(param, own) }
}
