import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { announce } from '../../kit/toasts.tsx'
import { call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import { customerWords } from './messages.ts'

/** Credits or debits a balance. A large sum may wait for a second administrator. */
export function AdjustDialog({
  organizationId,
  onClose,
}: {
  readonly organizationId: string
  readonly onClose: () => void
}) {
  const words = useWords(customerWords)
  return (
    <ReasonDialog
      title={words.adjust}
      lead={words.adjustLead}
      action={words.adjust}
      check={(values) => ({ amount_rub: findAmount(values) === undefined ? words.amountWrong : undefined })}
      send={(values, idempotencyKey) =>
        call('POST /admin/organizations/:organization_id/adjustments', {
          params: { organization_id: organizationId },
          body: { amount_rub: findAmount(values) ?? '', reason: textOf(values, 'reason') },
          idempotencyKey,
        })
      }
      onDone={(sent) => {
        announce('state' in sent ? words.waits : words.adjusted)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    >
      <TextField name="amount_rub" label={words.amount} inputMode="text" autoComplete="off" />
    </ReasonDialog>
  )
}

/** A sum as the server reads it; `undefined`: none, or zero. */
function findAmount(values: FormData): string | undefined {
  const text = textOf(values, 'amount_rub').replace(/[\s₽]/g, '').replace(',', '.').replace(/^[−–]/, '-')
  return /^-?\d{1,9}(?:\.\d{1,9})?$/.test(text) && /[1-9]/.test(text) ? text : undefined
}
