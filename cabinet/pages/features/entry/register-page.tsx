import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { CheckboxField, PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { emailError, newPasswordError, onlyErrors, textOf } from './checks.ts'
import { EntryCard } from './entry-card.tsx'
import { LetterSent } from './letter-sent.tsx'
import { entryWords } from './messages.ts'

export function RegisterPage() {
  const words = useWords(entryWords)
  const language = useLanguage()
  const [sentTo, setSentTo] = useState<string>()
  if (sentTo !== undefined) return <LetterSent email={sentTo} />
  return (
    <EntryCard
      title={words.registerTitle}
      lead={words.registerLead}
      below={<LinkedText text={words.haveAccount} href="/login" />}
    >
      <Form
        check={(values) =>
          onlyErrors({
            email: emailError(values, words),
            password: newPasswordError(values, words),
            accept_offer: values.has('accept_offer') ? undefined : words.offerMissing,
            accept_pdn: values.has('accept_pdn') ? undefined : words.pdnMissing,
          })
        }
        send={(values) =>
          call('POST /auth/register', {
            body: {
              email: textOf(values, 'email').trim(),
              password: textOf(values, 'password'),
              accept_offer: values.has('accept_offer'),
              accept_pdn: values.has('accept_pdn'),
              locale: language,
            },
          })
        }
        onDone={(_, values) => setSentTo(textOf(values, 'email').trim())}
      >
        <TextField name="email" label={words.email} type="email" autoComplete="email" />
        <PasswordField
          name="password"
          label={words.newPassword}
          hint={words.passwordHint}
          autoComplete="new-password"
        />
        <CheckboxField name="accept_offer">
          <LinkedText text={words.acceptOffer} href="/legal/offer" isNewTab />
        </CheckboxField>
        <CheckboxField name="accept_pdn">
          <LinkedText text={words.acceptPdn} href="/legal/personal_data" isNewTab />
        </CheckboxField>
        <SubmitButton>{words.register}</SubmitButton>
      </Form>
    </EntryCard>
  )
}
