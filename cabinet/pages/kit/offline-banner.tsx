import { useReachability } from '../api/reachability.ts'
import { useWords } from '../i18n/language.ts'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'

/** Shown as long as no new data arrives. */
export function OfflineBanner() {
  const words = useWords(kitWords)
  const reachability = useReachability()
  return (
    <div role="status">
      {reachability !== 'fine' && (
        <p className="flex items-start gap-3 bg-warning-soft px-5 py-3 text-sm text-warning">
          <Icon name="offline" />
          <span className="min-w-0">
            <strong>{reachability === 'unreachable' ? words.unreachable : words.unavailable}.</strong>{' '}
            <span className="text-ink">
              {reachability === 'unreachable' ? words.unreachableDetail : words.unavailableDetail}
            </span>
          </span>
        </p>
      )}
    </div>
  )
}
