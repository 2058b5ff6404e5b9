import { useState } from 'react'
import { call } from '../../api/call.ts'
import { queryClient } from '../../api/query-client.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { EntryCard } from './entry-card.tsx'
import { forgetLetterToken, useLetterToken } from './letter-token.ts'
import { entryWords } from './messages.ts'

type Result = 'changed' | 'other_address_missing' | 'canceled' | 'invalid'

/** The page of both links of a change of address. It needs a click: mail scanners open links too. */
export function EmailChangePage() {
  const token = useLetterToken()
  const [result, setResult] = useState<Result>('invalid')
  if (token === '') return <Ended result={result} />
  return (
    <Question
      key={token} // the second link may be opened in the tab of the first
      token={token}
      onEnd={(ended) => {
        forgetLetterToken()
        if (ended === 'changed') queryClient.clear() // all sessions have ended
        setResult(ended)
      }}
    />
  )
}

/** Only the present address may cancel. */
function Question({ token, onEnd }: { readonly token: string; readonly onEnd: (result: Result) => void }) {
  const words = useWords(entryWords)
  const [isOfOldAddress] = useState(() => new URLSearchParams(location.hash.slice(1)).has('old'))
  const onProblem = ({ code }: { readonly code: string }) => {
    if (code === 'invalid_token') onEnd('invalid')
    return undefined
  }
  return (
    <EntryCard
      title={words.emailChangeTitle}
      lead={isOfOldAddress ? words.emailChangeOldLead : words.emailChangeNewLead}
    >
      <Form
        send={() => call('POST /auth/email-change/confirm', { body: { token } })}
        errorsOf={onProblem}
        onDone={({ status }) => onEnd(status)}
      >
        <SubmitButton>{words.emailChangeConfirm}</SubmitButton>
      </Form>
      {isOfOldAddress && (
        <div className="mt-3">
          <Form
            send={() => call('POST /auth/email-change/cancel', { body: { token } })}
            errorsOf={onProblem}
            onDone={() => onEnd('canceled')}
          >
            <SubmitButton variant="secondary">{words.emailChangeCancel}</SubmitButton>
          </Form>
        </div>
      )}
    </EntryCard>
  )
}

function Ended({ result }: { readonly result: Result }) {
  const words = useWords(entryWords)
  return (
    <EntryCard title={words.emailChangeTitle} lead={words.emailChangeResults[result]}>
      <Actions>
        <ButtonLink href="/login" variant="primary">
          {words.login}
        </ButtonLink>
      </Actions>
    </EntryCard>
  )
}
