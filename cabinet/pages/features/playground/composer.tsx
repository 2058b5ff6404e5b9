import { useEffect, useRef } from 'react'
import { Button } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { TextArea } from '../../kit/fields.tsx'
import { useWords } from '../../words/language.ts'
import { playgroundWords } from '../../words/playground.ts'

type Props = {
  readonly draft: string
  readonly isRunning: boolean
  /** Nothing of the settings is wrong. */
  readonly isReady: boolean
  readonly onChange: (draft: string) => void
  readonly onAsk: () => void
  readonly onStop: () => void
}

/** Where a question is typed: Enter sends it, with Shift it is a new line. */
export function Composer({ draft, isRunning, isReady, onChange, onAsk, onStop }: Props) {
  const words = useWords(playgroundWords)
  const form = useRef<HTMLFormElement>(null)
  const wasRunning = useRef(false)
  useEffect(() => {
    // Whoever was at the button that stops goes on typing.
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
