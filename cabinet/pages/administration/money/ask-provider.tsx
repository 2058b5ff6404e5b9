import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { announce } from '../../kit/toasts.tsx'
import { call } from '../calls.ts'
import { moneyWords } from './messages.ts'

/** Asks the payment provider about a payment now, and shows what came of it. */
export function AskProvider({
  paymentId,
  onAnswer,
}: {
  readonly paymentId: string
  /** Its row may have changed. */
  readonly onAnswer: () => void
}) {
  const words = useWords(moneyWords)
  const asking = useChange(async () => {
    const { outcome } = await call('POST /admin/payments/:payment_id/refresh', {
      params: { payment_id: paymentId },
    })
    announce(words.askedOutcomes[outcome])
    onAnswer()
  })
  return (
    <div className="grid gap-2">
      <Button
        size="small"
        aria-label={words.askProviderAbout(paymentId)}
        isPending={asking.isPending}
        onClick={asking.start}
      >
        {words.askProvider}
      </Button>
      {asking.problem && <ProblemNote problem={asking.problem} fallback={words.askFailed} />}
    </div>
  )
}
