import type { Locale } from '../../api/access.ts'
import type { FieldError, Problem } from '../../api/problem.ts'

/** Why a well-formed value of a field is rejected. */
export type Refused = {
  /** With dots. */
  readonly path: string
  readonly code: string
  readonly en: string
  readonly ru: string
}

/** A rejection in the words of the resources' own rules, which are the same for `kubectl`. */
export function ruleBroken(path: string, message: string): Refused {
  return { path, code: 'custom', en: message, ru: message }
}

/** The problem with these fields, in the caller's language. Pure. */
export function refusal(refused: readonly Refused[], locale: Locale): { readonly problem: Problem } {
  const errors = refused.map(
    (each): FieldError => ({ path: each.path, code: each.code, message: each[locale] }),
  )
  return { problem: { code: 'validation_failed', errors } }
}
