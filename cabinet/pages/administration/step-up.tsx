import { useSyncExternalStore } from 'react'
import { asProblem } from '../api/problem.ts'
import { onlyErrors, textOf } from '../features/entry/checks.ts'
import { CodeField, codeError } from '../features/settings/code-field.tsx'
import { settingsWords } from '../features/settings/messages.ts'
import { useWords } from '../i18n/language.ts'
import { Dialog } from '../kit/dialog.tsx'
import { Form, FormEnd } from '../kit/form.tsx'
import { call, readAgain } from './calls.ts'
import { adminWords } from './messages.ts'

/** Called with whether a code was accepted, while the dialog is open. */
let answer: ((isAccepted: boolean) => void) | undefined
const listeners = new Set<() => void>()

/**
 * Makes a call that needs a recent code of the second factor. If the server asks for one, asks the administrator, and
 * then makes the same call again. @throws ApiProblem `mfa_step_up_required` if the administrator closes the dialog
 */
export async function withStepUp<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    if (asProblem(error).code !== 'mfa_step_up_required' || !(await askForCode())) throw error
    return await act()
  }
}

/** Opens the dialog. Resolves with whether a code was accepted. */
export function askForCode(): Promise<boolean> {
  answer?.(false)
  return new Promise((resolve) => {
    note((isAccepted) => {
      note(undefined)
      resolve(isAccepted)
    })
  })
}

function note(next: typeof answer): void {
  answer = next
  for (const listener of listeners) listener()
}

/** Asks for a code whenever a call needs one; once per document. */
export function StepUpDialog() {
  const words = useWords(adminWords)
  const settings = useWords(settingsWords)
  const close = useSyncExternalStore(subscribe, () => answer)
  if (close === undefined) return null
  return (
    <Dialog title={words.stepUpTitle} onClose={() => close(false)}>
      <Form
        check={(values) => onlyErrors({ code: codeError(values, settings) })}
        send={(values) => call('POST /me/totp/step-up', { body: { code: textOf(values, 'code') } })}
        errorsOf={({ code, detail, title }) =>
          code === 'invalid_code' ? { code: detail || title } : undefined
        }
        onDone={() => {
          void readAgain('/me')
          close(true)
        }}
      >
        <p>{words.stepUpLead}</p>
        <CodeField />
        <FormEnd send={words.confirm} onCancel={() => close(false)} />
      </Form>
    </Dialog>
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
