import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { nameOfVersion } from '../../time/days.ts'
import { legalWords } from './messages.ts'

/** A version's name is its day. */
export function VersionName({ version }: { readonly version: string }) {
  const words = useWords(legalWords)
  return `${words.since} ${nameOfVersion(version, useLanguage())}`
}

export function VersionState({ isInForce }: { readonly isInForce: boolean }) {
  const words = useWords(legalWords)
  return <Badge tone={isInForce ? 'success' : 'neutral'}>{isInForce ? words.inForce : words.outdated}</Badge>
}
