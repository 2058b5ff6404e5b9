import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Icon } from '../../kit/icon.tsx'
import { kitWords } from '../../kit/messages.ts'
import { RequestId } from '../../kit/problem-note.tsx'
import { formatAmount } from '../keys/refusal-facts.ts'
import type { GatewayFailure } from './gateway-call.ts'
import { playgroundWords } from './messages.ts'

/** Why the gateway did not answer, with the numbers of its error. */
export function FailureNote({ failure }: { readonly failure: GatewayFailure }) {
  const words = useWords(playgroundWords)
  const { retryAfter } = useWords(kitWords)
  const mayPay = useMay('billing.write')
  const language = useLanguage()
  const { resetsAt, retryAfterS, requestId, code, message, limit, used, held, needed } = failure
  const shown = (amount: typeof limit) => (amount === undefined ? undefined : formatAmount(amount, language))
  const [title, detail] = words.failure({
    code,
    limit: shown(limit),
    used: shown(used),
    held: shown(held),
    needed: shown(needed),
  })
  return (
    <div role="alert" className="flex gap-3 rounded-md bg-danger-soft p-4 text-danger">
      <Icon name="warning" />
      <div className="grid min-w-0 gap-1">
        <p className="font-medium">{title}</p>
        <div className="grid gap-1 text-sm text-ink">
          {detail !== '' && <p>{detail}</p>}
          {resetsAt !== undefined && (
            <p>
              {words.resetsAt} <DateTime at={resetsAt} />
            </p>
          )}
          {resetsAt === undefined && retryAfterS !== undefined && <p>{retryAfter(retryAfterS)}</p>}
          {!words.isKnown(code) && message !== '' && <p lang="en">{message}</p>}
        </div>
        {isAboutBalance(code) && mayPay && (
          <p className="mt-1">
            <ButtonLink href="/app/billing" size="small">
              {words.topUp}
            </ButtonLink>
          </p>
        )}
        <RequestId id={requestId} />
      </div>
    </div>
  )
}

function isAboutBalance(code: string): boolean {
  return code === 'insufficient_balance' || code === 'request_exceeds_balance'
}
