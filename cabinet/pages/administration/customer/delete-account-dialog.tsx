import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import { customerWords } from './messages.ts'

type User = Answer<'GET /admin/organizations/:organization_id'>['members'][number]

/** Deletes an account, which nothing brings back: the address must be typed. */
export function DeleteAccountDialog({
  user,
  onClose,
}: {
  readonly user: User
  readonly onClose: () => void
}) {
  const words = useWords(customerWords)
  return (
    <ReasonDialog
      title={words.deleteAccountOf(user.email)}
      lead={words.deleteAccountLead}
      action={words.deleteAccount}
      isDanger
      check={(values) => ({
        email:
          textOf(values, 'email').trim().toLowerCase() === user.email.toLowerCase()
            ? undefined
            : words.emailDiffers,
      })}
      send={(values) =>
        call('POST /admin/users/:user_id/delete', {
          params: { user_id: user.id },
          body: { reason: textOf(values, 'reason'), email: textOf(values, 'email').trim() },
        })
      }
      onDone={() => {
        announce(words.accountDeleted)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    >
      <TextField name="email" label={words.typeEmail} autoComplete="off" />
    </ReasonDialog>
  )
}
