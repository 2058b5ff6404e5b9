import { useState } from 'react'
import { call } from '../../api/call.ts'
import { readAgain } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { PasswordField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { announce } from '../../kit/toasts.tsx'
import { newPasswordError, onlyErrors, textOf } from '../entry/checks.ts'
import { entryWords } from '../entry/messages.ts'
import { settingsWords } from './messages.ts'

/** Changes the password; every other session ends. */
export function PasswordForm({ email }: { readonly email: string }) {
  const words = useWords(settingsWords)
  const entry = useWords(entryWords)
  const [isOpen, setOpen] = useState(false)
  if (!isOpen) return <Button onClick={() => setOpen(true)}>{words.changePassword}</Button>
  return (
    <div className="max-w-md">
      <Form
        check={(values) =>
          onlyErrors({
            current_password: textOf(values, 'current_password') === '' ? words.passwordMissing : undefined,
            new_password: newPasswordError(values, entry, 'new_password'),
          })
        }
        send={(values) =>
          call('POST /auth/password/change', {
            body: {
              current_password: textOf(values, 'current_password'),
              new_password: textOf(values, 'new_password'),
            },
          })
        }
        errorsOf={({ code }) =>
          code === 'invalid_credentials' ? { current_password: words.passwordWrong } : undefined
        }
        onDone={() => {
          announce(words.passwordChanged)
          setOpen(false)
          void readAgain('/me/sessions')
        }}
      >
        {/* For the browser's password manager, which stores passwords by name. */}
        <input type="text" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          name="current_password"
          label={words.currentPassword}
          autoComplete="current-password"
        />
        <PasswordField
          name="new_password"
          label={entry.newPassword}
          hint={words.newPasswordHint}
          autoComplete="new-password"
        />
        <FormEnd send={words.changePassword} onCancel={() => setOpen(false)} />
      </Form>
    </div>
  )
}
