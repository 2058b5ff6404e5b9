import type { ReactNode } from 'react'

/** One task in the middle of the page; `below` links to alternatives. */
export function EntryCard({
  title,
  lead,
  below,
  children,
}: {
  readonly title: string
  readonly lead?: string
  readonly below?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <div className="grid gap-5 sm:pt-8">
      <div className="grid gap-6 rounded-lg border border-line bg-surface p-6 shadow-raised sm:p-8">
        <header className="grid gap-1.5">
          <h1 className="text-xl">{title}</h1>
          {lead !== undefined && <p className="text-muted">{lead}</p>}
        </header>
        {children}
      </div>
      {below !== undefined && <div className="px-6 text-center text-sm text-muted">{below}</div>}
    </div>
  )
}
