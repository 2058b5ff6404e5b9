import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { PasswordField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { onlyErrors, textOf } from '../entry/checks.ts'
import { AppSecret } from './app-secret.tsx'
import { CodeField, codeError } from './code-field.tsx'
import { settingsWords } from './messages.ts'
import { RecoveryCodes } from './recovery-codes.tsx'

type Enrolment = Answer<'POST /me/totp/enrol'>

/** Password, then a code from the app, then the recovery codes, shown once. */
export function EnrolDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords(settingsWords)
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const [codes, setCodes] = useState<readonly string[]>()
  if (codes !== undefined) return <RecoveryCodes codes={codes} onClose={onClose} />
  return (
    <Dialog title={words.turnOnTitle} onClose={onClose}>
      {enrolment === undefined ? (
        <AskPassword onDone={setEnrolment} />
      ) : (
        <ConfirmCode
          enrolment={enrolment}
          onDone={(made) => {
            setCodes(made)
            void readAgain('/me/sessions')
          }}
        />
      )}
    </Dialog>
  )
}

function AskPassword({ onDone }: { readonly onDone: (enrolment: Enrolment) => void }) {
  const words = useWords(settingsWords)
  return (
    <Form
      check={(values) =>
        onlyErrors({ password: textOf(values, 'password') === '' ? words.passwordMissing : undefined })
      }
      send={(values) => call('POST /me/totp/enrol', { body: { password: textOf(values, 'password') } })}
      errorsOf={({ code }) =>
        code === 'invalid_credentials' ? { password: words.passwordWrong } : undefined
      }
      onDone={onDone}
    >
      <p>{words.turnOnLead}</p>
      <PasswordField name="password" label={words.currentPassword} autoComplete="current-password" />
      <SubmitButton>{words.next}</SubmitButton>
    </Form>
  )
}

function ConfirmCode({
  enrolment: { secret, otpauth_uri },
  onDone,
}: {
  readonly enrolment: Enrolment
  readonly onDone: (codes: readonly string[]) => void
}) {
  const words = useWords(settingsWords)
  return (
    <Form
      check={(values) => onlyErrors({ code: codeError(values, words) })}
      send={(values) => call('POST /me/totp/confirm', { body: { code: textOf(values, 'code') } })}
      errorsOf={({ code, detail }) => (code === 'invalid_code' ? { code: detail } : undefined)}
      onDone={({ recovery_codes }) => onDone(recovery_codes)}
    >
      <p>{words.scan}</p>
      <AppSecret secret={secret} uri={otpauth_uri} />
      <CodeField />
      <SubmitButton>{words.turnOn}</SubmitButton>
    </Form>
  )
}
