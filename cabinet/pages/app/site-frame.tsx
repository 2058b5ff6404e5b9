import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useLanguage, useWords } from '../i18n/language.ts'
import { ButtonLink } from '../kit/button.tsx'
import { addressIn } from '../public-addresses.ts'
import { Brand } from './brand.tsx'
import { chooseLanguage } from './me.ts'
import { Menu } from './menu.tsx'
import { shellWords } from './messages.ts'
import { Preferences } from './preferences-menu.tsx'

const link =
  'inline-flex min-h-9 items-center rounded-md px-3 text-sm font-medium text-muted no-underline hover:bg-hover hover:text-ink'

/** The frame around public pages. */
export function SiteFrame({
  banner,
  children,
}: {
  readonly banner: ReactNode
  readonly children: ReactNode
}) {
  const words = useWords(shellWords)
  const models = addressIn(useLanguage(), '/models')
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="sticky top-0 z-30 border-b border-line bg-surface">
        <div className="mx-auto flex min-h-14 max-w-6xl flex-wrap items-center gap-x-2 px-4 sm:px-6">
          <Brand href="/" />
          <nav aria-label={words.siteNavigation} className="ms-2 max-sm:hidden">
            <a href={models} className={link}>
              {words.models}
            </a>
            <DocsLink />
          </nav>
          <div className="ms-auto flex items-center gap-1">
            <Menu icon="sun" label={`${words.language}, ${words.theme.toLowerCase()}`}>
              <Preferences onLanguage={chooseLanguage} />
            </Menu>
            <ButtonLink href="/app" size="small" variant="secondary">
              {words.cabinet}
            </ButtonLink>
          </div>
        </div>
      </header>
      {banner}
      {children}
      <footer className="border-t border-line">
        <nav
          aria-label={words.documents}
          className="mx-auto flex max-w-6xl flex-wrap gap-1 px-1 py-3 sm:px-3"
        >
          <a href={models} className={link}>
            {words.models}
          </a>
          <DocsLink />
          <Link href="/legal" className={link}>
            {words.documents}
          </Link>
        </nav>
      </footer>
    </div>
  )
}

/** The documentation is prerendered: the browser loads it as a document. */
function DocsLink() {
  const words = useWords(shellWords)
  return (
    <a href={addressIn(useLanguage(), '/docs')} className={link}>
      {words.docs}
    </a>
  )
}
