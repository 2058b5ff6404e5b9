import { useState } from 'react'
import { kitWords } from '../words/kit.ts'
import { useWords } from '../words/language.ts'
import { Button, IconButton } from './button.tsx'
import { announce } from './toasts.tsx'

const copiedForMs = 2_000

/** Copies a text. `label` says what is copied, for those who do not see beside what it stands. `isCompact`: a sign alone, in rows. */
export function CopyButton({
  text,
  label,
  isCompact = false,
  onCopied,
}: {
  readonly text: string
  readonly label: string
  readonly isCompact?: boolean
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
        <IconButton icon={isCopied ? 'check' : 'copy'} label={label} onClick={() => void copy()} />
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

/** Beside what was to be copied: toasts lie below an open dialog, where nobody hears them. */
export function NotCopied() {
  const words = useWords(kitWords)
  return (
    <span role="alert" className="basis-full text-sm text-danger">
      {words.notCopied}
    </span>
  )
}

/** @returns whether the browser allowed it: it does not where a page was opened by an address over plain HTTP. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
