import type { ReactNode } from 'react'
import { useId } from 'react'
import { classNames } from './class-names.ts'

/** The head of a page: its one `h1`, a sentence, and its actions. */
export function PageHead({
  title,
  lead,
  actions,
}: {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
}) {
  return (
    <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
      <div className="min-w-0">
        <h1 className="text-2xl wrap-anywhere">
          <bdi>{title}</bdi>
        </h1>
        {lead !== undefined && <div className="mt-1 max-w-prose text-muted">{lead}</div>}
      </div>
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </header>
  )
}

/** A part of a page with a heading, on its own surface. `isFlush`: a table reaches its edges. */
export function Section({
  title,
  lead,
  actions,
  isFlush = false,
  children,
}: {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly isFlush?: boolean
  readonly children: ReactNode
}) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className="min-w-0 overflow-clip rounded-lg border border-line bg-surface shadow-raised"
    >
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-5 pt-4 pb-1">
        <div className="min-w-0">
          <h2 id={id} className="text-lg">
            {title}
          </h2>
          {lead !== undefined && <p className="text-sm text-muted">{lead}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      <div className={classNames(isFlush ? 'pt-2' : 'px-5 pt-2 pb-5')}>{children}</div>
    </section>
  )
}

/** One figure with its label, as on the overview. */
export function Figure({
  label,
  value,
  note,
}: {
  readonly label: string
  readonly value: ReactNode
  readonly note?: ReactNode
}) {
  return (
    <div className="grid min-w-0 content-start gap-1 rounded-lg border border-line bg-surface p-5 shadow-raised">
      <p className="text-sm text-muted">{label}</p>
      <p className="text-2xl font-semibold">{value}</p>
      {note !== undefined && <p className="text-sm text-muted">{note}</p>}
    </div>
  )
}
