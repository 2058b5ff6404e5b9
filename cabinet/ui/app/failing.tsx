import { Component, type ReactNode } from 'react'
import { Button } from '../kit/button.tsx'
import { useWords } from '../words/language.ts'
import { shellWords } from '../words/shell.ts'

/** A page that could not be drawn, or whose chunk could not be loaded, takes nothing else with it. */
export class Failing extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <PageFailed /> : this.props.children
  }
}

function PageFailed() {
  const words = useWords(shellWords)
  return (
    <div role="alert" className="grid justify-items-start gap-4">
      <h1 className="text-2xl">{words.pageFailed}</h1>
      <p className="max-w-prose text-muted">{words.pageFailedDetail}</p>
      <Button variant="primary" onClick={() => location.reload()}>
        {words.reload}
      </Button>
    </div>
  )
}
