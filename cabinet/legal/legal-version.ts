import type { Locale } from '../api/access.ts'

/** Documents that users accept separately. */
export type LegalKind = (typeof legalKinds)[number]
export const legalKinds = ['offer', 'personal_data', 'saved_card'] as const

/** Those that every user accepts. Others are accepted with what they are about. */
export type SignUpKind = (typeof signUpKinds)[number]
export const signUpKinds = ['offer', 'personal_data'] as const

/** One version of a document in one language. Never changed: a user may have agreed to it. */
export type LegalVersion = {
  readonly kind: LegalKind
  /** The day on which it takes effect, in Moscow: `2026-11-22`. */
  readonly version: string
  readonly locale: Locale
  /** Hex, of the text in UTF-8. */
  readonly sha256: string
}

export type LegalText = LegalVersion & { readonly text: string }

/** Of one version, on one day. */
export type LegalState = 'upcoming' | 'in_force' | 'outdated'

const moscow = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Moscow' })

/** The day in Moscow, as versions are named. */
export function legalDay(now: Date): string {
  return moscow.format(now)
}

/**
 * The newest version of each kind that every user accepts and that has taken effect by a day, in a language. Pure.
 *
 * @throws Error if there is none: the release comes with one of each.
 */
export function versionsInForce<Version extends LegalVersion>(
  versions: readonly Version[],
  locale: Locale,
  day: string,
): readonly (Version & { readonly kind: SignUpKind })[] {
  return signUpKinds.map((kind) => ({ ...versionInForce(versions, kind, { locale, day }), kind }))
}

/** The newest version of one kind. Pure. @throws Error if there is none: the release comes with one of each. */
export function versionInForce<Version extends LegalVersion>(
  versions: readonly Version[],
  kind: LegalKind,
  { locale, day }: { readonly locale: Locale; readonly day: string },
): Version {
  const [newest] = versions
    .filter((one) => one.kind === kind && one.locale === locale && one.version <= day)
    .toSorted((a, b) => b.version.localeCompare(a.version))
  if (newest === undefined) throw new Error(`legal document ${kind} does not exist in ${locale} on ${day}`)
  return newest
}

/** Pure. */
export function legalStateOf(one: LegalVersion, versions: readonly LegalVersion[], day: string): LegalState {
  if (one.version > day) return 'upcoming'
  const inForce = versionInForce(versions, one.kind, { locale: one.locale, day })
  return one.version === inForce.version ? 'in_force' : 'outdated'
}
