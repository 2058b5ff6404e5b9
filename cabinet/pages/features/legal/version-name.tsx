import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { nameOfVersion } from '../../time/days.ts'
import type { Version } from './documents.ts'
import { legalWords } from './messages.ts'

/** A version's name is its day. */
export function VersionName({ version }: { readonly version: string }) {
  const words = useWords(legalWords)
  return `${words.since} ${nameOfVersion(version, useLanguage())}`
}

export function VersionState({ state }: Pick<Version, 'state'>) {
  const words = useWords(legalWords)
  return <Badge tone={tones[state]}>{words.states[state]}</Badge>
}

const tones = { upcoming: 'accent', in_force: 'success', outdated: 'neutral' } as const
