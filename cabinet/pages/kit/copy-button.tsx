import { useState } from 'react'
import { useWords } from '../i18n/language.ts'
import { Button, IconButton } from './button.tsx'
import { kitWords } from './messages.ts'
import { announce } from './toasts.tsx'

const copiedForMs = 2_000

/** Copies a text. `label` names what is copied, for screen readers. `isCompact`: only an icon, for table rows; `small`: for dense ones. */
export function CopyButton({
  text,
  label,
  isCompact = false,
  size = 'medium',
  onCopied,
}: {
  readonly text: string
  readonly label: string
  readonly isCompact?: boolean
  readonly size?: 'medium' | 'small'
  readonly onCopied?: () => void
}) {
  const words = useWords(kitWords)
  const [isCopied, setCopied] = useState(false)
  const [isRefused, setRefused] = useState(false)

  async function copy(): Promise<void> {
    const isDone = await copyText(text)
    setRefused(!isDone)
    if (!isDone) return
    announce(words.copied)
    setCopied(true)
    setTimeout(() => setCopied(false), copiedForMs)
    onCopied?.()
  }

  return (
    <>
      {isCompact ? (
        <IconButton
          icon={isCopied ? 'check' : 'copy'}
          label={label}
          size={size}
          onClick={() => void copy()}
        />
      ) : (
        <Button
          variant="quiet"
          size="small"
          icon={isCopied ? 'check' : 'copy'}
          aria-label={isCopied ? undefined : label}
          onClick={() => void copy()}
        >
          {isCopied ? words.copied : words.copy}
        </Button>
      )}
      {isRefused && <NotCopied />}
    </>
  )
}

/** Next to the copied text: a toast would be behind an open dialog, where screen readers do not read it. */
export function NotCopied() {
  const words = useWords(kitWords)
  return (
    <span role="alert" className="basis-full text-sm text-danger">
      {words.notCopied}
    </span>
  )
}

/** @returns whether the browser allowed it; on pages opened over plain HTTP it does not. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
