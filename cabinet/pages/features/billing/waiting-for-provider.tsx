import { useEffect } from 'react'
import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { billingWords } from './messages.ts'
import { useReason } from './payment-words.ts'

const askAgainMs = 2_000

/** Shown until the payment page's address is known; then the browser goes there. */
export function WaitingForProvider({
  payment,
  onEnd,
}: {
  readonly payment: Answer<'POST /payments'>
  readonly onEnd: () => void
}) {
  const words = useWords(billingWords)
  const reasonOf = useReason()
  const read = useRead(
    '/payments/:payment_id',
    { params: { payment_id: payment.id } },
    { refetchInterval: askAgainMs },
  )
  const { confirmation_url: url, status, cancellation_reason } = read.data ?? payment
  useEffect(() => {
    if (url !== null) location.assign(url)
  }, [url])
  if (status === 'canceled')
    return (
      <div role="alert" className="grid justify-items-start gap-4">
        <p>{words.canceledBecause(reasonOf(cancellation_reason))}</p>
        <Button onClick={onEnd}>{words.again}</Button>
      </div>
    )
  return (
    <div role="status" className="grid justify-items-start gap-4">
      <p className={url === null ? 'breathing font-medium' : 'font-medium'}>
        {url === null ? words.waitingTitle : words.openingTitle}
      </p>
      <p className="text-muted">{url === null ? words.waiting : words.opening}</p>
      {url !== null && (
        <p>
          <TextLink href={url}>{words.payNow}</TextLink>
        </p>
      )}
      <p className="text-sm text-muted">{words.waitingElsewhere}</p>
      {status !== 'pending' && (
        <Actions>
          <ButtonLink href={`/app/billing/return?payment=${payment.id}`}>{words.openPayment}</ButtonLink>
        </Actions>
      )}
    </div>
  )
}
