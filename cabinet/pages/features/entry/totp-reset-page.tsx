import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { EntryCard } from './entry-card.tsx'
import { forgetLetterToken, useLetterToken } from './letter-token.ts'
import { entryWords } from './messages.ts'

/** The page of the link that keeps a second factor. It needs a click: mail scanners open links too. */
export function TotpResetPage() {
  const words = useWords(entryWords)
  const token = useLetterToken()
  const [ended, setEnded] = useState<'canceled' | 'too_late'>()
  if (ended === undefined && token !== '')
    return (
      <EntryCard title={words.totpResetTitle} lead={words.totpResetLead}>
        <Form
          send={() => call('POST /auth/totp-reset/cancel', { body: { token } })}
          errorsOf={({ code }) => {
            if (code === 'invalid_token') setEnded('too_late')
            return undefined
          }}
          onDone={() => {
            forgetLetterToken()
            setEnded('canceled')
          }}
        >
          <SubmitButton>{words.totpResetCancel}</SubmitButton>
        </Form>
      </EntryCard>
    )
  return (
    <EntryCard
      title={words.totpResetTitle}
      lead={ended === 'canceled' ? words.totpResetCanceled : words.totpResetLate}
    >
      <Actions>
        <ButtonLink href="/login" variant="primary">
          {words.login}
        </ButtonLink>
      </Actions>
    </EntryCard>
  )
}
