import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import type { Me } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { announce } from '../../kit/toasts.tsx'
import { emailError, onlyErrors, textOf } from '../entry/checks.ts'
import { entryWords } from '../entry/messages.ts'
import { CodeField, codeError } from './code-field.tsx'
import { settingsWords } from './messages.ts'

/** Changes the user's address, or shows the change that waits for its links. */
export function EmailForm({ me }: { readonly me: Me }) {
  const words = useWords(settingsWords)
  const pending = useRead('/me/email-change').data?.change
  const [isOpen, setOpen] = useState(false)
  if (pending) return <PendingChange change={pending} />
  if (!isOpen) return <Button onClick={() => setOpen(true)}>{words.changeEmail}</Button>
  return <NewEmail me={me} onClose={() => setOpen(false)} />
}

function NewEmail({ me, onClose }: { readonly me: Me; readonly onClose: () => void }) {
  const words = useWords(settingsWords)
  const entry = useWords(entryWords)
  return (
    <div className="max-w-md">
      <Form
        check={(values) =>
          onlyErrors({
            email: emailError(values, entry),
            password: textOf(values, 'password') === '' ? words.passwordMissing : undefined,
            code: me.has_totp ? codeError(values, words) : undefined,
          })
        }
        send={(values) =>
          call('POST /me/email-change', {
            body: {
              email: textOf(values, 'email').trim(),
              password: textOf(values, 'password'),
              ...(me.has_totp && { code: textOf(values, 'code') }),
            },
          })
        }
        errorsOf={({ code, detail }) => {
          if (code === 'invalid_credentials') return { password: words.passwordWrong }
          return code === 'invalid_code' ? { code: detail } : undefined
        }}
        onDone={() => {
          announce(words.lettersSent)
          onClose()
          void readAgain('/me/email-change')
        }}
      >
        <TextField
          name="email"
          label={words.newEmail}
          hint={words.newEmailHint}
          type="email"
          autoComplete="email"
        />
        <PasswordField name="password" label={words.currentPassword} autoComplete="current-password" />
        {me.has_totp && <CodeField />}
        <FormEnd send={words.changeEmail} onCancel={onClose} />
      </Form>
    </div>
  )
}

type Change = NonNullable<Answer<'GET /me/email-change'>['change']>

function PendingChange({ change }: { readonly change: Change }) {
  const words = useWords(settingsWords)
  const cancel = useChange(async () => {
    await call('DELETE /me/email-change')
    announce(words.changeCanceled)
    await readAgain('/me/email-change')
  })
  return (
    <Notice tone="warning">
      <div className="grid gap-2">
        <p className="font-medium break-words">{words.emailPending(change.email)}</p>
        <p>
          {words.emailPendingLead(change.is_old_confirmed, change.is_new_confirmed)} {words.emailPendingUntil}{' '}
          <DateTime at={change.expires_at} />.
        </p>
        <div>
          <Button size="small" isPending={cancel.isPending} onClick={cancel.start}>
            {words.cancelChange}
          </Button>
        </div>
        {cancel.problem && <ProblemNote problem={cancel.problem} fallback={words.changeNotCanceled} />}
      </div>
    </Notice>
  )
}
