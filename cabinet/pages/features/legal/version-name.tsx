import { Badge } from '../../kit/badge.tsx'
import { nameOfVersion } from '../../kit/days.ts'
import { useLanguage, useWords } from '../../words/language.ts'
import { legalWords } from '../../words/legal.ts'

/** A version is called by its day. */
export function VersionName({ version }: { readonly version: string }) {
  const words = useWords(legalWords)
  return `${words.since} ${nameOfVersion(version, useLanguage())}`
}

export function VersionState({ isInForce }: { readonly isInForce: boolean }) {
  const words = useWords(legalWords)
  return <Badge tone={isInForce ? 'success' : 'neutral'}>{isInForce ? words.inForce : words.outdated}</Badge>
}
