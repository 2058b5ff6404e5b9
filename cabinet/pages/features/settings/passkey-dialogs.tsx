import { useState } from 'react'
import { call } from '../../api/call.ts'
import { createPasskey } from '../../api/passkeys.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { PasswordField, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { announce } from '../../kit/toasts.tsx'
import { onlyErrors, textOf } from '../entry/checks.ts'
import { nameOfAgent } from './agent.ts'
import { CodeField, codeError } from './code-field.tsx'
import { settingsWords } from './messages.ts'
import { passkeyWords } from './passkey-messages.ts'

/** A name, and the password again (and a code), before the browser asks for the device. */
export function AddPasskeyDialog({
  hasTotp,
  onClose,
}: {
  readonly hasTotp: boolean
  readonly onClose: () => void
}) {
  const words = useWords(passkeyWords)
  const settings = useWords(settingsWords)
  const [refused, setRefused] = useState<'canceled' | 'known'>()

  async function add(values: FormData): Promise<'canceled' | 'known' | 'added'> {
    setRefused(undefined)
    const code = hasTotp ? { code: textOf(values, 'code') } : undefined
    const options = await call('POST /me/passkeys/challenge', {
      body: { password: textOf(values, 'password'), ...code },
    })
    const credential = await createPasskey(options)
    if (credential === undefined) return 'canceled'
    if (credential === 'known') return 'known'
    await call('POST /me/passkeys', { body: { name: textOf(values, 'name'), credential } })
    return 'added'
  }

  return (
    <Dialog title={words.addTitle} onClose={onClose}>
      <Form
        check={(values) =>
          onlyErrors({
            name: textOf(values, 'name').trim() === '' ? words.nameMissing : undefined,
            password: textOf(values, 'password') === '' ? settings.passwordMissing : undefined,
            code: hasTotp ? codeError(values, settings) : undefined,
          })
        }
        send={add}
        errorsOf={passwordOrCode(settings.passwordWrong)}
        onDone={(result) => {
          if (result !== 'added') return setRefused(result)
          announce(words.addedNow)
          onClose()
        }}
      >
        <p>{words.addLead}</p>
        <TextField
          name="name"
          label={words.name}
          defaultValue={nameOfAgent(navigator.userAgent) ?? ''}
          maxLength={64}
          autoComplete="off"
        />
        <PasswordField name="password" label={settings.currentPassword} autoComplete="current-password" />
        {hasTotp && <CodeField />}
        <div aria-live="polite">{refused !== undefined && <Notice>{words.refused[refused]}</Notice>}</div>
        <SubmitButton>{words.add}</SubmitButton>
      </Form>
    </Dialog>
  )
}

/** Removes a passkey; needs the password. */
export function RemovePasskeyDialog({
  passkey: { id, name },
  onClose,
}: {
  readonly passkey: { readonly id: string; readonly name: string }
  readonly onClose: () => void
}) {
  const words = useWords(passkeyWords)
  const settings = useWords(settingsWords)
  return (
    <Dialog title={words.removeTitle(name)} onClose={onClose}>
      <Form
        check={(values) =>
          onlyErrors({ password: textOf(values, 'password') === '' ? settings.passwordMissing : undefined })
        }
        send={(values) =>
          call('DELETE /me/passkeys/:passkey_id', {
            params: { passkey_id: id },
            body: { password: textOf(values, 'password') },
          })
        }
        errorsOf={passwordOrCode(settings.passwordWrong)}
        onDone={() => {
          announce(words.removedNow)
          onClose()
        }}
      >
        <p>{words.removeLead}</p>
        <PasswordField name="password" label={settings.currentPassword} autoComplete="current-password" />
        <SubmitButton variant="danger">{words.remove}</SubmitButton>
      </Form>
    </Dialog>
  )
}

const passwordOrCode =
  (passwordWrong: string) =>
  ({ code, detail }: ApiProblem) => {
    if (code === 'invalid_credentials') return { password: passwordWrong }
    return code === 'invalid_code' ? { code: detail } : undefined
  }
