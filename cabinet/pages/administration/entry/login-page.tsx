import { useState } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { queryClient } from '../../api/query-client.ts'
import { emailError, onlyErrors, textOf } from '../../features/entry/checks.ts'
import { EntryCard } from '../../features/entry/entry-card.tsx'
import { entryWords } from '../../features/entry/messages.ts'
import { CodeField, codeError } from '../../features/settings/code-field.tsx'
import { settingsWords } from '../../features/settings/messages.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { nextPage } from '../../navigation/sign-in-again.ts'
import { call } from '../calls.ts'
import { findAdministrationPage } from '../find-page.ts'
import { adminWords } from '../messages.ts'

/** Email, password and a code are checked together: no session without a second factor exists. */
export function LoginPage() {
  const words = useWords(adminWords)
  const entry = useWords(entryWords)
  const settings = useWords(settingsWords)
  const search = useSearch()
  const [factor, setFactor] = useState<'code' | 'recovery_code'>('code')
  const isCode = factor === 'code'
  return (
    <EntryCard title={words.loginTitle} below={<LinkedText text={words.noAccess} href="/setup" />}>
      <Form
        check={(values) =>
          onlyErrors({
            email: emailError(values, entry),
            password: textOf(values, 'password') === '' ? entry.passwordMissing : undefined,
            code: isCode ? codeError(values, settings) : undefined,
            recovery_code:
              !isCode && textOf(values, 'recovery_code').trim() === '' ? entry.recoveryMissing : undefined,
          })
        }
        send={(values) =>
          call('POST /auth/login', {
            body: {
              email: textOf(values, 'email'),
              password: textOf(values, 'password'),
              [factor]: textOf(values, factor).trim(),
            },
          })
        }
        errorsOf={({ code }) =>
          code === 'invalid_credentials' ? { [factor]: words.wrongCredentials } : undefined
        }
        onDone={() => {
          queryClient.clear()
          navigate(nextPage(search, findAdministrationPage), { replace: true })
        }}
      >
        <TextField name="email" label={words.email} type="email" autoComplete="username" />
        <PasswordField name="password" label={words.password} autoComplete="current-password" />
        {isCode ? (
          <CodeField />
        ) : (
          <TextField name="recovery_code" label={words.recoveryCode} autoComplete="off" />
        )}
        <SubmitButton>{words.login}</SubmitButton>
        <Button variant="quiet" onClick={() => setFactor(isCode ? 'recovery_code' : 'code')}>
          {isCode ? words.useRecovery : words.useCode}
        </Button>
      </Form>
    </EntryCard>
  )
}
