import { lazy, Suspense } from 'react'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { Actions, Dialog } from '../../kit/dialog.tsx'
import { LeaveSecret, SecretOnce } from '../../kit/secret-once.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { FirstRequestCode } from './first-request-code.tsx'
import { keyWords } from './messages.ts'
import type { MadeKey } from './new-key-dialog.tsx'

/** Without its chunk the command of a first request: a dialog with a secret must never fail. */
const ConnectKey = lazy(() =>
  import('../connect/connect-key.tsx').then(
    (module) => ({ default: module.ConnectKey }),
    () => ({ default: FirstRequestCode }),
  ),
)

/** Shows a secret for the only time; closes once the user confirms having saved it. */
export function SecretDialog({
  made,
  isRotated = false,
  onClose,
}: {
  readonly made: MadeKey
  readonly isRotated?: boolean
  readonly onClose: () => void
}) {
  const words = useWords(keyWords)
  const { key, secret } = made
  if (secret === null && isRotated)
    return (
      <Dialog title={words.rotatedLost} onClose={onClose}>
        <p>{words.rotatedLostLead}</p>
      </Dialog>
    )
  if (secret === null)
    return (
      <Dialog title={words.secretLost} onClose={onClose}>
        <p>{words.secretLostLead}</p>
        <Actions>
          <ButtonLink href={`/app/keys/${key.id}`} variant="primary">
            {words.openKey}
          </ButtonLink>
        </Actions>
      </Dialog>
    )
  return (
    <Dialog title={words.secretTitle} isDismissible={false} onClose={onClose}>
      <p>{words.secretLead}</p>
      <SecretOnce secret={secret} label={words.secretLabel} />
      <LeaveSecret secret={secret} words={{ ...words, copied: words.copiedSecret }} onClose={onClose} />
      <Suspense fallback={<Skeleton heightRem={22} />}>
        <ConnectKey secret={secret} allowed={key.allowed_models} />
      </Suspense>
    </Dialog>
  )
}
