import { useReachability } from '../api/reachability.ts'
import { kitWords } from '../words/kit.ts'
import { useWords } from '../words/language.ts'
import { Icon } from './icon.tsx'

/** Says that nothing new comes, for as long as it is so. */
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
