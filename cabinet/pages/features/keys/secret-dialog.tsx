import { useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { copyText, NotCopied } from '../../kit/copy-button.tsx'
import { Actions, Dialog } from '../../kit/dialog.tsx'
import { announce } from '../../kit/toasts.tsx'
import { FirstRequestCode } from './first-request-code.tsx'
import { keyWords } from './messages.ts'
import type { MadeKey } from './new-key-dialog.tsx'

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
      <Secret secret={secret} />
      <FirstRequestCode secret={secret} allowed={key.allowed_models} />
      <Closing secret={secret} onClose={onClose} />
    </Dialog>
  )
}

function Secret({ secret }: { readonly secret: string }) {
  const words = useWords(keyWords)
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{words.secretLabel}</p>
      <code
        data-secret
        className="rounded-md border border-edge bg-sunken px-3 py-2 font-mono text-sm break-all select-all"
      >
        {secret}
      </code>
    </div>
  )
}

function Closing({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const words = useWords(keyWords)
  const [isRefused, setRefused] = useState(false)

  async function copyAndClose(): Promise<void> {
    if (!(await copyText(secret))) return setRefused(true)
    announce(words.copiedSecret)
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
