import { usePathname } from 'wouter/use-browser-location'
import { useWords } from '../i18n/language.ts'
import { LinkedText } from '../kit/text-link.tsx'
import { useMe } from './me.ts'
import { shellWords } from './messages.ts'

const settings = '/app/settings'

/** Shown while a document in force is not accepted, except on the page where it is accepted. */
export function ConsentsBanner() {
  const words = useWords(shellWords)
  const pathname = usePathname()
  const outdated = useMe().data?.outdated_consents ?? []
  if (outdated.length === 0 || pathname === settings) return null
  return (
    <p className="bg-warning-soft px-5 py-3 text-sm text-ink">
      <LinkedText text={words.documentsChanged} href={settings} />
    </p>
  )
}
