import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { useWords } from '../../i18n/language.ts'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { emailError, newPasswordError, onlyErrors, textOf } from './checks.ts'
import { EntryCard } from './entry-card.tsx'
import { forgetLetterToken, useLetterToken } from './letter-token.ts'
import { entryWords } from './messages.ts'

/** Without the token of an email it offers to send one; with it, it sets a new password. */
export function ResetPage() {
  const token = useLetterToken()
  return token === '' ? <AskForLetter /> : <SetPassword key={token} token={token} />
}

function AskForLetter({ isAgain = false }: { readonly isAgain?: boolean }) {
  const words = useWords(entryWords)
  const [sentTo, setSentTo] = useState<string>()
  const below = <TextLink href="/login">{words.backToLogin}</TextLink>
  if (sentTo !== undefined)
    return (
      <EntryCard title={words.letterTitle} below={below}>
        <p>{words.resetSent(sentTo)}</p>
      </EntryCard>
    )
  return (
    <EntryCard
      title={words.resetAskTitle}
      lead={isAgain ? words.resetLinkUsed : words.resetAskLead}
      below={below}
    >
      <Form
        check={(values) => onlyErrors({ email: emailError(values, words) })}
        send={(values) =>
          call('POST /auth/password/forgot', { body: { email: textOf(values, 'email').trim() } })
        }
        onDone={(_, values) => setSentTo(textOf(values, 'email').trim())}
      >
        <TextField name="email" label={words.email} type="email" autoComplete="username" />
        <SubmitButton>{words.resetAsk}</SubmitButton>
      </Form>
    </EntryCard>
  )
}

function SetPassword({ token }: { readonly token: string }) {
  const words = useWords(entryWords)
  const [isUsed, setUsed] = useState(false)
  if (isUsed) return <AskForLetter isAgain />
  return (
    <EntryCard
      title={words.resetTitle}
      lead={words.resetLead}
      below={<TextLink href="/login">{words.backToLogin}</TextLink>}
    >
      <Form
        check={(values) => onlyErrors({ password: newPasswordError(values, words) })}
        send={(values) =>
          call('POST /auth/password/reset', { body: { token, password: textOf(values, 'password') } })
        }
        errorsOf={({ code }) => {
          if (code === 'invalid_token') setUsed(true)
          return undefined
        }}
        onDone={() => {
          forgetLetterToken()
          announce(words.resetDone)
          navigate('/login', { replace: true })
        }}
      >
        <PasswordField
          name="password"
          label={words.newPassword}
          hint={words.passwordHint}
          autoComplete="new-password"
        />
        <SubmitButton>{words.reset}</SubmitButton>
      </Form>
    </EntryCard>
  )
}
