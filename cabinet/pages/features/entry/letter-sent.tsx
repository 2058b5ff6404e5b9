import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { useWords } from '../../i18n/language.ts'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { EntryCard } from './entry-card.tsx'
import { entryWords } from './messages.ts'

const pauseS = 60

/** After a registration; the same for an address that is already registered. */
export function LetterSent({ email }: { readonly email: string }) {
  const words = useWords(entryWords)
  const [waitS, setWaitS] = useState(pauseS)
  useEffect(() => {
    if (waitS === 0) return
    const timer = setTimeout(() => setWaitS(waitS - 1), 1_000)
    return () => clearTimeout(timer)
  }, [waitS])
  return (
    <EntryCard title={words.letterTitle} below={<TextLink href="/login">{words.backToLogin}</TextLink>}>
      <div className="grid gap-4">
        <p>{words.letterText(email)}</p>
        <p className="text-sm text-muted">{words.letterHint}</p>
        <Form
          send={() => call('POST /auth/resend-verification', { body: { email } })}
          onDone={() => {
            announce(words.sentAgain)
            setWaitS(pauseS)
          }}
        >
          {waitS > 0 ? (
            <p className="text-sm text-muted">{words.sendAgainIn(waitS)}</p>
          ) : (
            <SubmitButton variant="secondary">{words.sendAgain}</SubmitButton>
          )}
        </Form>
      </div>
    </EntryCard>
  )
}
