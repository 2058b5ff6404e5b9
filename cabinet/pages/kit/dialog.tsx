import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useWords } from '../i18n/language.ts'
import { useStayingHere } from '../navigation/stay-here.ts'
import { IconButton } from './button.tsx'
import { kitWords } from './messages.ts'

/**
 * A modal dialog: the browser keeps the focus in it, and it returns the focus when it closes. Render it while it is open:
 * `{isOpen && <Dialog …/>}`.
 */
export function Dialog({
  title,
  onClose,
  isDismissible = true,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  /** `false`: only its content closes it. Escape, Back and a click outside do nothing; a reload needs confirmation. */
  readonly isDismissible?: boolean
  readonly children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isPressedBeside = useRef(false)
  const titleId = useId()
  const words = useWords(kitWords)
  useStayingHere(!isDismissible)

  useEffect(() => {
    const opener = document.activeElement
    const element = dialog.current
    element?.showModal()
    return () => {
      element?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])

  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      className="w-[min(34rem,calc(100vw-2rem))] max-h-[calc(100dvh-2rem)] scroll-py-20 overflow-auto rounded-lg border border-line bg-raised p-0 text-ink shadow-floating"
      closedby={isDismissible ? 'closerequest' : 'none'}
      onCancel={(event) => {
        event.preventDefault() // the parent decides whether it is open
        if (isDismissible) onClose()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isDismissible) event.preventDefault()
      }}
      onClose={() => {
        // Browsers without `closedby` close it at a second Escape or Back in a row, even if the first was prevented.
        if (dialog.current?.open !== false) return
        if (isDismissible) onClose()
        else dialog.current.showModal()
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === dialog.current
      }}
      onClick={(event) => {
        // A text selection may end outside the dialog, and the second click of a double click that opened it may be there.
        const isMeant = isPressedBeside.current && event.detail === 1
        if (isDismissible && isMeant && event.target === dialog.current) onClose()
      }}
    >
      <div className="grid gap-5 p-6">
        <header className="flex items-start justify-between gap-4">
          <h2 id={titleId} className="min-w-0 text-xl">
            {title}
          </h2>
          {isDismissible && <IconButton icon="close" label={words.close} onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** The actions of a dialog or a form, the main one first. */
export function Actions({ children }: { readonly children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-3">{children}</div>
}
