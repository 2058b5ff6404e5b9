import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { LeaveSecret, SecretOnce } from '../../kit/secret-once.tsx'
import type { MadeToken } from './new-token-dialog.tsx'
import { tokenWords } from './token-messages.ts'

/** Shows a token for the only time; closes once the user confirms having saved it. */
export function TokenSecretDialog({
  made: { secret },
  onClose,
}: {
  readonly made: MadeToken
  readonly onClose: () => void
}) {
  const words = useWords(tokenWords)
  if (secret === null)
    return (
      <Dialog title={words.lost} onClose={onClose}>
        <p>{words.lostLead}</p>
      </Dialog>
    )
  return (
    <Dialog title={words.secretTitle} isDismissible={false} onClose={onClose}>
      <p>{words.secretLead}</p>
      <SecretOnce secret={secret} label={words.secretLabel} />
      <LeaveSecret secret={secret} words={words} onClose={onClose} />
    </Dialog>
  )
}
