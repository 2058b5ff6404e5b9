import type { Answer } from '../../api/calls.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge, type Tone } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { notificationWords } from './notification-messages.ts'

type Attempted = NonNullable<NonNullable<Answer<'GET /notifications'>['telegram']>['last_delivery']>

const tones: Readonly<Record<Attempted['status'], Tone>> = {
  waiting: 'neutral',
  delivered: 'success',
  failed: 'danger',
}

/** The last webhook or message, and whether it arrived. */
export function Delivery({ delivery }: { readonly delivery: Attempted }) {
  const words = useWords(notificationWords)
  const { event, status, created_at, attempts, error_code } = delivery
  return (
    <>
      <span>{words.events[event]}</span>
      <DateTime at={created_at} />
      <Badge tone={tones[status]}>{words.statuses[status]}</Badge>
      {error_code !== null && (
        <span>
          {words.attempts(attempts)}, <code className="font-mono">{error_code}</code>
        </span>
      )}
    </>
  )
}
