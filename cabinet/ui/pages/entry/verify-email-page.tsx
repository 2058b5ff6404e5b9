import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { queryClient } from '../../api/query-client.ts'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { entryWords } from '../../words/entry.ts'
import { useWords } from '../../words/language.ts'
import { emailError, onlyErrors, textOf } from './checks.ts'
import { EntryCard } from './entry-card.tsx'
import { LetterSent } from './letter-sent.tsx'
import { forgetLetterToken, useLetterToken } from './letter-token.ts'

/** Where a letter's link leads. A button confirms, for programs that look at mail open links too. */
export function VerifyEmailPage() {
  const words = useWords(entryWords)
  const token = useLetterToken()
  const [isUsed, setUsed] = useState(false)
  if (token === '' || isUsed) return <AskAgain isUsed={isUsed} />
  return (
    <EntryCard title={words.verifyTitle} lead={words.verifyLead}>
      <Form
        send={() => call('POST /auth/verify-email', { body: { token } })}
        errorsOf={({ code }) => {
          if (code === 'invalid_token') setUsed(true)
          return undefined
        }}
        onDone={() => {
          forgetLetterToken()
          queryClient.clear()
          navigate('/app', { replace: true })
        }}
      >
        <SubmitButton>{words.verify}</SubmitButton>
      </Form>
    </EntryCard>
  )
}

function AskAgain({ isUsed }: { readonly isUsed: boolean }) {
  const words = useWords(entryWords)
  const [sentTo, setSentTo] = useState<string>()
  if (sentTo !== undefined) return <LetterSent email={sentTo} />
  return (
    <EntryCard
      title={words.verifyTitle}
      lead={isUsed ? words.linkUsed : words.linkBroken}
      below={<TextLink href="/login">{words.backToLogin}</TextLink>}
    >
      <Form
        check={(values) => onlyErrors({ email: emailError(values, words) })}
        send={(values) =>
          call('POST /auth/resend-verification', { body: { email: textOf(values, 'email').trim() } })
        }
        onDone={(_, values) => setSentTo(textOf(values, 'email').trim())}
      >
        <TextField name="email" label={words.email} type="email" autoComplete="email" />
        <SubmitButton>{words.sendAgain}</SubmitButton>
      </Form>
    </EntryCard>
  )
}
