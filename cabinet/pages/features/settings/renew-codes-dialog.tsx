import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { onlyErrors, textOf } from '../entry/checks.ts'
import { CodeField, codeError } from './code-field.tsx'
import { settingsWords } from './messages.ts'
import { RecoveryCodes } from './recovery-codes.tsx'

/** Replaces the recovery codes; needs a code from the app. */
export function RenewCodesDialog({ onClose }: { readonly onClose: () => void }) {
  const words = useWords(settingsWords)
  const [codes, setCodes] = useState<readonly string[]>()
  if (codes !== undefined) return <RecoveryCodes codes={codes} onClose={onClose} />
  return (
    <Dialog title={words.renewCodes} onClose={onClose}>
      <Form
        check={(values) => onlyErrors({ code: codeError(values, words) })}
        send={(values) => call('POST /me/recovery-codes', { body: { code: textOf(values, 'code') } })}
        errorsOf={({ code, detail }) => (code === 'invalid_code' ? { code: detail } : undefined)}
        onDone={({ recovery_codes }) => setCodes(recovery_codes)}
      >
        <p>{words.renewLead}</p>
        <CodeField />
        <SubmitButton>{words.renewCodes}</SubmitButton>
      </Form>
    </Dialog>
  )
}
