import { Badge } from '../../kit/badge.tsx'
import { formatTime } from '../../kit/date-time.tsx'
import { useLanguage, useWords } from '../../words/language.ts'
import { legalWords } from '../../words/legal.ts'

/** A version is called by its day. */
export function VersionName({ version }: { readonly version: string }) {
  const words = useWords(legalWords)
  const language = useLanguage()
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(version)
  return `${words.since} ${isDay ? formatTime(`${version}T00:00:00Z`, language, 'UTC', 'date') : version}`
}

export function VersionState({ isInForce }: { readonly isInForce: boolean }) {
  const words = useWords(legalWords)
  return <Badge tone={isInForce ? 'success' : 'neutral'}>{isInForce ? words.inForce : words.outdated}</Badge>
}
