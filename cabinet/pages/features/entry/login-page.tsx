import { navigate, useSearch } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { forgetOrganization } from '../../api/organization.ts'
import { queryClient } from '../../api/query-client.ts'
import { useWords } from '../../i18n/language.ts'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText, TextLink } from '../../kit/text-link.tsx'
import { emailError, onlyErrors, textOf } from './checks.ts'
import { enter } from './enter.ts'
import { EntryCard } from './entry-card.tsx'
import { entryWords } from './messages.ts'
import { PasskeySignIn } from './passkey-sign-in.tsx'

export function LoginPage() {
  const words = useWords(entryWords)
  const search = useSearch()
  return (
    <EntryCard title={words.loginTitle} below={<LinkedText text={words.noAccount} href="/register" />}>
      <Form
        check={(values) =>
          onlyErrors({
            email: emailError(values, words),
            password: textOf(values, 'password') === '' ? words.passwordMissing : undefined,
          })
        }
        send={(values) =>
          call('POST /auth/login', {
            body: { email: textOf(values, 'email'), password: textOf(values, 'password') },
          })
        }
        onDone={({ mfa }, values) => {
          forgetOrganization(textOf(values, 'email'))
          if (mfa === null) return enter(search)
          queryClient.clear()
          navigate(`/login/totp${search}`, { replace: true })
        }}
      >
        <TextField name="email" label={words.email} type="email" autoComplete="username" />
        <PasswordField name="password" label={words.password} autoComplete="current-password" />
        <SubmitButton>{words.login}</SubmitButton>
        <p className="text-sm">
          <TextLink href="/reset">{words.forgot}</TextLink>
        </p>
      </Form>
      <PasskeySignIn />
    </EntryCard>
  )
}
