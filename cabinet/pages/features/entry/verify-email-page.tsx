import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { forgetOrganization } from '../../api/organization.ts'
import { asProblem } from '../../api/problem.ts'
import { queryClient } from '../../api/query-client.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { emailError, onlyErrors, textOf } from './checks.ts'
import { EntryCard } from './entry-card.tsx'
import { LetterSent } from './letter-sent.tsx'
import { forgetLetterToken, useLetterToken } from './letter-token.ts'
import { entryWords } from './messages.ts'

/** The page that an email's link opens. */
export function VerifyEmailPage() {
  const [isConfirmed, setConfirmed] = useState(false)
  const token = useLetterToken()
  if (isConfirmed) return <Confirmed />
  if (token === '') return <AskAgain isUsed={false} />
  return <Confirm key={token} token={token} onSignedOut={() => setConfirmed(true)} />
}

/** Confirmation needs a click: mail scanners open links too. */
function Confirm({ token, onSignedOut }: { readonly token: string; readonly onSignedOut: () => void }) {
  const words = useWords(entryWords)
  const [isUsed, setUsed] = useState(false)
  if (isUsed) return <AskAgain isUsed />

  /** @returns whether this signed the user in, as the first use of a link does. */
  async function confirm(): Promise<boolean> {
    await call('POST /auth/verify-email', { body: { token } })
    const problem = await call('GET /me').then(() => undefined, asProblem)
    return problem?.code !== 'unauthenticated'
  }

  return (
    <EntryCard title={words.verifyTitle} lead={words.verifyLead}>
      <Form
        send={confirm}
        errorsOf={({ code }) => {
          if (code === 'invalid_token') setUsed(true)
          return undefined
        }}
        onDone={(isSignedIn) => {
          forgetLetterToken()
          queryClient.clear()
          if (isSignedIn) forgetOrganization()
          if (isSignedIn) navigate('/app', { replace: true })
          else onSignedOut()
        }}
      >
        <SubmitButton>{words.verify}</SubmitButton>
      </Form>
    </EntryCard>
  )
}

/** The link had been used already. */
function Confirmed() {
  const words = useWords(entryWords)
  return (
    <EntryCard title={words.confirmedTitle} lead={words.confirmedLead}>
      <Actions>
        <ButtonLink href="/login" variant="primary">
          {words.login}
        </ButtonLink>
      </Actions>
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
