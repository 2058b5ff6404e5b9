import { useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { copyText, NotCopied } from '../../kit/copy-button.tsx'
import { Actions, Dialog } from '../../kit/dialog.tsx'
import { announce } from '../../kit/toasts.tsx'
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
      <div className="grid gap-1.5">
        <p className="text-sm font-medium">{words.secretLabel}</p>
        <code
          data-secret
          className="rounded-md border border-edge bg-sunken px-3 py-2 font-mono text-sm break-all select-all"
        >
          {secret}
        </code>
      </div>
      <Closing secret={secret} onClose={onClose} />
    </Dialog>
  )
}

function Closing({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const words = useWords(tokenWords)
  const [isRefused, setRefused] = useState(false)

  async function copyAndClose(): Promise<void> {
    if (!(await copyText(secret))) return setRefused(true)
    announce(words.copied)
    onClose()
  }

  return (
    <Actions>
      <Button variant="primary" icon="copy" onClick={() => void copyAndClose()}>
        {words.copyAndClose}
      </Button>
      <Button onClick={onClose}>{words.saved}</Button>
      {isRefused && <NotCopied />}
    </Actions>
  )
}
