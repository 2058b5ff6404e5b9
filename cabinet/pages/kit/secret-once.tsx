import { useState } from 'react'
import { Button } from './button.tsx'
import { copyText, NotCopied } from './copy-button.tsx'
import { Actions } from './dialog.tsx'
import { announce } from './toasts.tsx'

/** A secret that is shown only now. */
export function SecretOnce({ secret, label }: { readonly secret: string; readonly label: string }) {
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{label}</p>
      <code
        data-secret
        className="rounded-md border border-edge bg-sunken px-3 py-2 font-mono text-sm break-all select-all"
      >
        {secret}
      </code>
    </div>
  )
}

/** Closes its dialog: once it is copied, or the user confirms having saved it. */
export function LeaveSecret({
  secret,
  words,
  onClose,
}: {
  readonly secret: string
  readonly words: { readonly copyAndClose: string; readonly copied: string; readonly saved: string }
  readonly onClose: () => void
}) {
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
