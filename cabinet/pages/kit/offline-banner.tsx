import { type Reachability, useReachability } from '../api/reachability.ts'
import { useWords } from '../i18n/language.ts'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'

/** Shown as long as no new data arrives. */
export function OfflineBanner() {
  const words = useWords(kitWords)
  const reachability = useReachability()
  const shown = awayWords(words, reachability) ?? waitingWords(words, reachability)
  return (
    <div role="status">
      {shown !== undefined && (
        <p className="flex items-start gap-3 bg-warning-soft px-5 py-3 text-sm text-warning">
          <Icon name="offline" />
          <span className="min-w-0">
            <strong>{shown.title}.</strong> <span className="text-ink">{shown.detail}</span>
          </span>
        </p>
      )}
    </div>
  )
}

type Words = (typeof kitWords)['en']

/** Why no response arrives: the user has no network, or our server does not respond. Pure. */
export function awayWords(words: Words, reachability: Reachability) {
  if (reachability === 'offline') return { title: words.offline, detail: words.offlineDetail }
  if (reachability === 'unreachable') return { title: words.unreachable, detail: words.unreachableDetail }
  return undefined
}

function waitingWords(words: Words, reachability: Reachability) {
  if (reachability === 'unavailable') return { title: words.unavailable, detail: words.unavailableDetail }
  if (reachability === 'slow') return { title: words.slow, detail: words.slowDetail }
  return undefined
}
