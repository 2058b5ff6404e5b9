import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'
import { asProblem } from '../../api/problem.ts'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { classNames } from '../../kit/class-names.ts'
import { ErrorState } from '../../kit/loaded.tsx'
import { PageHead } from '../../kit/section.tsx'
import { type PagePath, pageRoutes } from '../../page-routes.ts'
import { billingWords } from './messages.ts'

const places = ['/app/billing', '/app/billing/payments', '/app/billing/history'] as const

/** A page about the balance, with the way to the others; for members who may read it. */
export function BillingFrame({
  path,
  children,
}: {
  readonly path: (typeof places)[number]
  readonly children: ReactNode
}) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const balance = useRead('/balance')
  const isForbidden = balance.data === undefined && asProblem(balance.error).code === 'forbidden'
  return (
    <>
      <PageHead title={pageRoutes[path].title[language]} lead={words.leads[path]} />
      {isForbidden ? (
        <ErrorState problem={balance.error} onRetry={balance.refetch} />
      ) : (
        <div className="grid gap-6">
          <nav aria-label={words.balance} className="border-b border-line print:hidden">
            <ul className="flex flex-wrap gap-1">
              {places.map((place) => (
                <li key={place}>
                  <PlaceLink path={place}>{words.places[place]}</PlaceLink>
                </li>
              ))}
            </ul>
          </nav>
          {children}
        </div>
      )}
    </>
  )
}

function PlaceLink({ path, children }: { readonly path: PagePath; readonly children: string }) {
  const isHere = usePathname() === path
  return (
    <Link
      href={path}
      aria-current={isHere ? 'page' : undefined}
      className={classNames(
        'inline-flex min-h-10 items-center border-b-2 px-3 text-base font-medium no-underline outline-offset-[-2px]',
        isHere
          ? 'border-accent text-ink forced-colors:border-[Highlight]'
          : 'border-transparent text-muted hover:text-ink forced-colors:border-[Canvas]',
      )}
    >
      {children}
    </Link>
  )
}
