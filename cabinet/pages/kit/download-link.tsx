import { useMutation } from '@tanstack/react-query'
import type { MouseEvent, ReactNode } from 'react'
import { readFile } from '../api/call.ts'
import { namingOrganization } from '../api/organization.ts'
import { asProblem } from '../api/problem.ts'
import { useWords } from '../i18n/language.ts'
import { goToLogin } from '../navigation/sign-in-again.ts'
import { looksOf } from './button.tsx'
import { classNames } from './class-names.ts'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'
import { ProblemNote } from './problem-note.tsx'
import { saveFile } from './save-file.ts'

/** A link that looks like a button and downloads a file from our server; errors appear below it. */
export function DownloadLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const words = useWords(kitWords)
  const download = useMutation({
    mutationFn: () => readFile(href),
    onSuccess: saveFile,
    onError: (error) => {
      if (asProblem(error).code === 'unauthenticated') goToLogin()
    },
  })

  function start(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return // leave shortcuts to the browser
    event.preventDefault()
    if (!download.isPending) download.mutate()
  }

  return (
    <div className="grid max-w-full justify-items-start gap-2">
      <a
        href={namingOrganization(href)}
        download
        aria-busy={download.isPending || undefined}
        className={looksOf({ size: 'small' })}
        onClick={start}
      >
        <Icon name="download" size={16} />
        <span className={classNames('min-w-0', download.isPending && 'breathing')}>{children}</span>
      </a>
      {download.error !== null && (
        <ProblemNote problem={asProblem(download.error)} fallback={words.downloadFailed} />
      )}
    </div>
  )
}
