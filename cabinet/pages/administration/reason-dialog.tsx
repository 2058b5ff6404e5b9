import type { ReactNode } from 'react'
import type { ApiProblem } from '../api/problem.ts'
import { onlyErrors, textOf } from '../features/entry/checks.ts'
import { useWords } from '../i18n/language.ts'
import { Dialog } from '../kit/dialog.tsx'
import { TextField } from '../kit/fields.tsx'
import { type FieldErrors, Form, FormEnd } from '../kit/form.tsx'
import { adminWords } from './messages.ts'
import { withStepUp } from './step-up.tsx'

const reasonLengths = { min: 3, max: 500 } as const

/** An error of the field `reason`, before it is sent. */
function reasonError(values: FormData, words: (typeof adminWords)['ru']): string | undefined {
  const { length } = textOf(values, 'reason').trim()
  return length < reasonLengths.min || length > reasonLengths.max ? words.reasonShort : undefined
}

/** A change that needs a reason, and a recent code if the server asks for one. */
export function ReasonDialog<Sent>({
  title,
  lead,
  action,
  isDanger = false,
  check,
  errorsOf,
  send,
  onDone,
  onClose,
  children,
}: {
  readonly title: string
  readonly lead: string
  readonly action: string
  readonly isDanger?: boolean
  /** Errors of the fields in `children`. */
  readonly check?: (values: FormData) => Readonly<Record<string, string | undefined>>
  /** Maps a problem to errors of fields, if its `errors` do not. */
  readonly errorsOf?: (problem: ApiProblem) => FieldErrors | undefined
  readonly send: (values: FormData, idempotencyKey: string) => Promise<Sent>
  readonly onDone: (sent: Sent) => void
  readonly onClose: () => void
  readonly children?: ReactNode
}) {
  const words = useWords(adminWords)
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        check={(values) => onlyErrors({ ...check?.(values), reason: reasonError(values, words) })}
        {...(errorsOf && { errorsOf })}
        send={(values, idempotencyKey) => withStepUp(() => send(values, idempotencyKey))}
        onDone={(sent) => {
          onDone(sent)
          onClose()
        }}
      >
        <p>{lead}</p>
        {children}
        <TextField name="reason" label={words.reason} hint={words.reasonHint} autoComplete="off" />
        <FormEnd variant={isDanger ? 'danger' : 'primary'} send={action} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
