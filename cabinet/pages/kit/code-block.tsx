import { useWords } from '../i18n/language.ts'
import { CopyButton } from './copy-button.tsx'
import { kitWords } from './messages.ts'

/** Code to copy and run; long lines wrap, so that all of it is visible. `label`: the heading above it. */
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
