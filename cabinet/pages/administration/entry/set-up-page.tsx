import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { queryClient } from '../../api/query-client.ts'
import { newPasswordError, onlyErrors, textOf } from '../../features/entry/checks.ts'
import { EntryCard } from '../../features/entry/entry-card.tsx'
import { entryWords } from '../../features/entry/messages.ts'
import { AppSecret } from '../../features/settings/app-secret.tsx'
import { CodeField, codeError } from '../../features/settings/code-field.tsx'
import { settingsWords } from '../../features/settings/messages.ts'
import { RecoveryCodes } from '../../features/settings/recovery-codes.tsx'
import { useWords } from '../../i18n/language.ts'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { type Answer, call } from '../calls.ts'
import { adminWords } from '../messages.ts'

type Factor = Answer<'POST /auth/setup'> & { readonly token: string }

/** The token of `npm run admin` and a password, then a code from the app, then the recovery codes, shown once. */
export function SetUpPage() {
  const words = useWords(adminWords)
  const [factor, setFactor] = useState<Factor>()
  const [codes, setCodes] = useState<readonly string[]>()
  return (
    <EntryCard
      title={factor === undefined ? words.setUpTitle : words.factorTitle}
      {...(factor === undefined && { lead: words.setUpLead })}
    >
      {factor === undefined ? (
        <ChoosePassword onDone={setFactor} />
      ) : (
        <ConfirmFactor factor={factor} onDone={setCodes} />
      )}
      {codes !== undefined && (
        <RecoveryCodes
          codes={codes}
          onClose={() => {
            queryClient.clear()
            navigate('/app', { replace: true })
          }}
        />
      )}
    </EntryCard>
  )
}

function ChoosePassword({ onDone }: { readonly onDone: (factor: Factor) => void }) {
  const words = useWords(adminWords)
  const entry = useWords(entryWords)
  const tokenOf = (values: FormData) => textOf(values, 'token').trim()
  return (
    <Form
      check={(values) =>
        onlyErrors({
          token: tokenOf(values) === '' ? words.tokenMissing : undefined,
          password: newPasswordError(values, entry),
        })
      }
      send={(values) =>
        call('POST /auth/setup', { body: { token: tokenOf(values), password: textOf(values, 'password') } })
      }
      errorsOf={({ code }) => (code === 'invalid_token' ? { token: words.tokenUsed } : undefined)}
      onDone={(made, values) => onDone({ ...made, token: tokenOf(values) })}
    >
      <TextField name="token" label={words.token} autoComplete="off" spellCheck={false} />
      <PasswordField
        name="password"
        label={words.newPassword}
        hint={words.newPasswordHint}
        autoComplete="new-password"
      />
      <SubmitButton>{words.next}</SubmitButton>
    </Form>
  )
}

function ConfirmFactor({
  factor: { token, secret, otpauth_uri },
  onDone,
}: {
  readonly factor: Factor
  readonly onDone: (codes: readonly string[]) => void
}) {
  const words = useWords(adminWords)
  const settings = useWords(settingsWords)
  return (
    <Form
      check={(values) => onlyErrors({ code: codeError(values, settings) })}
      send={(values) => call('POST /auth/setup/confirm', { body: { token, code: textOf(values, 'code') } })}
      errorsOf={({ code, detail, title }) =>
        code === 'invalid_code' ? { code: detail || title } : undefined
      }
      onDone={({ recovery_codes }) => onDone(recovery_codes)}
    >
      <p>{settings.scan}</p>
      <AppSecret secret={secret} uri={otpauth_uri} />
      <CodeField />
      <SubmitButton>{words.finish}</SubmitButton>
    </Form>
  )
}
