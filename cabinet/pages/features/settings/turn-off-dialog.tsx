import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { announce } from '../../kit/toasts.tsx'
import { onlyErrors, textOf } from '../entry/checks.ts'
import { CodeField, codeError } from './code-field.tsx'
import { settingsWords } from './messages.ts'

/** Turns the second factor off: needs the password and a code from the app, or a recovery code if the app is lost. */
export function TurnOffDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords(settingsWords)
  const [factor, setFactor] = useState<'code' | 'recovery_code'>('code')
  const isCode = factor === 'code'
  return (
    <Dialog title={words.turnOffTitle} onClose={onClose}>
      <Form
        check={(values) =>
          onlyErrors({
            password: textOf(values, 'password') === '' ? words.passwordMissing : undefined,
            code: isCode ? codeError(values, words) : undefined,
            recovery_code:
              !isCode && textOf(values, 'recovery_code').trim() === '' ? words.recoveryMissing : undefined,
          })
        }
        send={(values) =>
          call('DELETE /me/totp', {
            body: { password: textOf(values, 'password'), [factor]: textOf(values, factor).trim() },
          })
        }
        errorsOf={({ code, detail }) => {
          if (code === 'invalid_credentials') return { password: words.passwordWrong }
          return code === 'invalid_code' ? { [factor]: detail } : undefined
        }}
        onDone={() => {
          announce(words.turnedOff)
          onClose()
        }}
      >
        <p>{words.turnOffLead}</p>
        <PasswordField name="password" label={words.currentPassword} autoComplete="current-password" />
        {isCode ? (
          <CodeField key="code" />
        ) : (
          <TextField key="recovery" name="recovery_code" label={words.recoveryCode} autoComplete="off" />
        )}
        <div>
          <Button variant="quiet" size="small" onClick={() => setFactor(isCode ? 'recovery_code' : 'code')}>
            {isCode ? words.useRecovery : words.useCode}
          </Button>
        </div>
        <SubmitButton variant="danger">{words.turnOff}</SubmitButton>
      </Form>
    </Dialog>
  )
}
