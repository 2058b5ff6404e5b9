import type { ReactNode } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Money } from '../../kit/money.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { AnswerText } from './answer-text.tsx'
import type { Exchange } from './conversation.ts'
import { FailureNote } from './failure-note.tsx'
import { playgroundWords } from './messages.ts'

type Props = {
  readonly exchange: Exchange
  /** Set if the question can be asked again. */
  readonly onRetry: (() => void) | undefined
}

/** A question and its answer, with the cost or the reason for the failure. */
export function ExchangeView({ exchange, onRetry }: Props) {
  const words = useWords(playgroundWords)
  const { question, answer, state, problem, failure } = exchange
  return (
    <li className="grid gap-4">
      <Said by={words.you}>
        <p className="rounded-lg bg-accent-soft px-4 py-3 break-words whitespace-pre-wrap">{question}</p>
      </Said>
      <Said by={words.assistant}>
        {answer !== '' && <AnswerText text={answer} isRunning={state === 'running'} />}
        {state === 'running' && answer === '' && <p className="breathing text-muted">{words.waiting}</p>}
        {state === 'done' && answer === '' && <p className="text-muted">{words.emptyAnswer}</p>}
        {problem && <ProblemNote problem={problem} fallback={words.noKey} />}
        {failure && <FailureNote failure={failure} />}
        <Outcome exchange={exchange} />
        {onRetry !== undefined && state === 'failed' && (
          <div>
            <Button size="small" onClick={onRetry}>
              {words.askAgain}
            </Button>
          </div>
        )}
      </Said>
    </li>
  )
}

function Said({ by, children }: { readonly by: string; readonly children: ReactNode }) {
  return (
    <div className="grid min-w-0 gap-1.5">
      <h3 className="text-sm font-medium text-muted">{by}</h3>
      {children}
    </div>
  )
}

/** The cost, with a link to the receipt. */
function Outcome({ exchange: { state, bill, isAccepted, requestId } }: { readonly exchange: Exchange }) {
  const words = useWords(playgroundWords)
  if (state === 'running') return null
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      {state === 'stopped' && <span>{isAccepted ? words.stopped : words.stoppedEarly}</span>}
      {bill && (
        <>
          <span>{words.tokens(bill.promptTokens, bill.completionTokens)}</span>
          <span className="font-medium text-ink">
            <Money rubles={bill.costRub} isExact />
          </span>
        </>
      )}
      {isAccepted && requestId !== undefined && (
        <TextLink href={`/app/requests/${requestId}`} isNewTab>
          {words.receipt}
        </TextLink>
      )}
    </p>
  )
}
