import { type ReactNode, useEffect, useId, useState, useSyncExternalStore } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Money } from '../../kit/money.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import type { Exchange } from '../playground/conversation.ts'
import { createConversation } from '../playground/conversation-store.ts'
import { FailureNote } from '../playground/failure-note.tsx'
import { connectWords } from './messages.ts'

/** Enough to see a model respond; with it the request reserves little money. */
const answerTokensMax = 200

/** Sends one request with a short-lived key, and shows its receipt or why it failed. */
export function TestRequest({ baseUrl, model }: { readonly baseUrl: string; readonly model: string }) {
  const words = useWords(connectWords)
  const titleId = useId()
  const [conversation] = useState(() => createConversation(baseUrl))
  const { exchanges, isRunning } = useSyncExternalStore(conversation.subscribe, conversation.read)
  const last = exchanges.at(-1)
  useEffect(() => conversation.stop, [conversation])

  function send(): void {
    conversation.clear()
    const settings = { model, system: '', temperature: undefined, maxTokens: answerTokensMax }
    conversation.ask(settings, words.prompt)
  }

  return (
    <section aria-labelledby={titleId} className="grid min-w-0 gap-3 border-t border-line pt-5">
      <h3 id={titleId} className="text-base font-semibold">
        {words.test}
      </h3>
      <p className="text-sm text-muted">{words.testLead}</p>
      <div>
        <Button isPending={isRunning} onClick={send}>
          {last === undefined || isRunning ? words.send : words.sendAgain}
        </Button>
      </div>
      <div role="status" className="grid min-w-0 gap-3 empty:hidden">
        {last !== undefined && <Result exchange={last} />}
      </div>
    </section>
  )
}

function Result({ exchange }: { readonly exchange: Exchange }): ReactNode {
  const words = useWords(connectWords)
  const { state, problem, failure } = exchange
  if (state === 'running') return <p className="breathing text-muted">{words.waiting}</p>
  return (
    <>
      {problem && <ProblemNote problem={problem} fallback={words.noKey} />}
      {failure && <FailureNote failure={failure} />}
      {state === 'done' && <Receipt exchange={exchange} />}
    </>
  )
}

function Receipt({ exchange: { answer, bill, requestId } }: { readonly exchange: Exchange }) {
  const words = useWords(connectWords)
  const count = new Intl.NumberFormat(useLanguage())
  return (
    <>
      <p className="font-medium text-success">{words.works}</p>
      <dl className="grid gap-x-4 gap-y-1 text-sm sm:grid-cols-[max-content_minmax(0,1fr)]">
        <dt className="text-muted">{words.answer}</dt>
        <dd className="min-w-0 break-words whitespace-pre-wrap">
          {answer === '' ? words.emptyAnswer : answer}
        </dd>
        {bill && (
          <>
            <dt className="text-muted">{words.tokens}</dt>
            <dd>
              {count.format(bill.promptTokens)} + {count.format(bill.completionTokens)}
            </dd>
            <dt className="text-muted">{words.cost}</dt>
            <dd>
              <Money rubles={bill.costRub} isExact />
            </dd>
          </>
        )}
        {requestId !== undefined && (
          <>
            <dt className="text-muted">{words.requestId}</dt>
            <dd className="min-w-0 break-all">
              <TextLink href={`/app/requests/${requestId}`} isNewTab>
                {requestId}
              </TextLink>
            </dd>
          </>
        )}
      </dl>
    </>
  )
}
