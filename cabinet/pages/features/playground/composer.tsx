import { useEffect, useRef } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { TextArea } from '../../kit/fields.tsx'
import { playgroundWords } from './messages.ts'

type Props = {
  readonly draft: string
  readonly isRunning: boolean
  /** The settings contain no error. */
  readonly isReady: boolean
  readonly onChange: (draft: string) => void
  readonly onAsk: () => void
  readonly onStop: () => void
}

/** The question field: Enter sends, Shift + Enter adds a line. */
export function Composer({ draft, isRunning, isReady, onChange, onAsk, onStop }: Props) {
  const words = useWords(playgroundWords)
  const form = useRef<HTMLFormElement>(null)
  const wasRunning = useRef(false)
  useEffect(() => {
    // The focus moves from the Stop button back to the field.
    if (wasRunning.current && !isRunning && document.activeElement === document.body)
      focusQuestion(form.current)
    wasRunning.current = isRunning
  }, [isRunning])
  return (
    <form
      ref={form}
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        onAsk()
      }}
    >
      <TextArea
        name="question"
        label={words.question}
        hint={isReady ? words.questionHint : words.settingsWrong}
        rows={3}
        value={draft}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          onAsk()
        }}
      />
      <Actions>
        <Button type="submit" variant="primary" isPending={isRunning}>
          {words.ask}
        </Button>
        {isRunning && (
          <Button icon="close" onClick={onStop}>
            {words.stop}
          </Button>
        )}
      </Actions>
    </form>
  )
}

function focusQuestion(form: HTMLFormElement | null): void {
  const question = form?.elements.namedItem('question')
  if (question instanceof HTMLElement) question.focus()
}
