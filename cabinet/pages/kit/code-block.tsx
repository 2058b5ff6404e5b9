import { kitWords } from '../words/kit.ts'
import { useWords } from '../words/language.ts'
import { CopyButton } from './copy-button.tsx'

/** Code to copy and run; long lines are broken, so that nothing of it is hidden. `label`: what it is, shown above it. */
export function CodeBlock({
  code,
  label,
  onCopied,
}: {
  readonly code: string
  readonly label: string
  readonly onCopied?: () => void
}) {
  const words = useWords(kitWords)
  return (
    <figure className="min-w-0 overflow-clip rounded-md border border-line bg-sunken">
      <figcaption className="flex min-h-10 items-center justify-between gap-2 has-[[role=alert]]:flex-wrap border-b border-line ps-4 pe-1 text-sm text-muted">
        <span className="min-w-0 py-1">{label}</span>
        <CopyButton text={code} label={`${words.copyCode}: ${label}`} {...(onCopied && { onCopied })} />
      </figcaption>
      <pre className="p-4 font-mono text-sm whitespace-pre-wrap wrap-anywhere">
        <code>{code}</code>
      </pre>
    </figure>
  )
}
