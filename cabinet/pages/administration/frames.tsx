import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'
import { type AdministrationPath, administrationRoutes } from '../administration-routes.ts'
import { useChange } from '../api/use-change.ts'
import { Brand } from '../app/brand.tsx'
import { Menu } from '../app/menu.tsx'
import { shellWords } from '../app/messages.ts'
import { Preferences } from '../app/preferences-menu.tsx'
import { setLanguage, useLanguage, useWords } from '../i18n/language.ts'
import { Button } from '../kit/button.tsx'
import { classNames } from '../kit/class-names.ts'
import { Icon, type IconName } from '../kit/icon.tsx'
import { OfflineBanner } from '../kit/offline-banner.tsx'
import { ProblemNote } from '../kit/problem-note.tsx'
import { signOut, useMe } from './me.ts'
import { adminWords } from './messages.ts'

type FrameProps = { readonly children: ReactNode }

/** The frame around sign-in and set-up. */
export function EntryFrame({ children }: FrameProps) {
  const words = useWords(shellWords)
  return (
    <div className="flex min-h-dvh flex-col">
      <TopBar home="/login">
        <Menu icon="sun" label={`${words.language}, ${words.theme.toLowerCase()}`}>
          <Preferences onLanguage={setLanguage} />
        </Menu>
      </TopBar>
      <OfflineBanner />
      {children}
    </div>
  )
}

/** The frame around pages for signed-in administrators. */
export function SignedInFrame({ children }: FrameProps) {
  return (
    <div className="flex min-h-dvh flex-col">
      <TopBar home="/app">
        <AccountMenu />
      </TopBar>
      <OfflineBanner />
      <div className="flex w-full flex-1 max-md:flex-col">
        <Navigation />
        <div className="flex min-w-0 flex-1 flex-col md:border-s md:border-line">{children}</div>
      </div>
    </div>
  )
}

function TopBar({ home, children }: { readonly home: string; readonly children: ReactNode }) {
  const words = useWords(adminWords)
  return (
    <header className="sticky top-0 z-30 flex min-h-14 items-center gap-3 border-b border-line bg-surface px-4">
      <Brand href={home} />
      <p className="min-w-0 truncate border-s border-line ps-3 text-sm text-muted">{words.administration}</p>
      <div className="ms-auto flex items-center gap-1">{children}</div>
    </header>
  )
}

function AccountMenu() {
  const words = useWords(shellWords)
  const me = useMe()
  const leaving = useChange(signOut)
  return (
    <Menu icon="person" label={words.userMenu}>
      <div className="grid gap-4">
        <p className="px-2 text-sm break-words text-muted">{me.data?.email}</p>
        <Preferences onLanguage={setLanguage} />
        <Button variant="secondary" isPending={leaving.isPending} onClick={leaving.start}>
          {words.logout}
        </Button>
        {leaving.problem && <ProblemNote problem={leaving.problem} fallback={words.logoutFailed} />}
      </div>
    </Menu>
  )
}

const places: readonly { readonly path: AdministrationPath; readonly icon: IconName }[] = [
  { path: '/app', icon: 'overview' },
  { path: '/app/models', icon: 'models' },
  { path: '/app/providers', icon: 'external' },
  { path: '/app/operations', icon: 'usage' },
  { path: '/app/payments', icon: 'billing' },
  { path: '/app/approvals', icon: 'check' },
  { path: '/app/differences', icon: 'warning' },
  { path: '/app/webhooks', icon: 'external' },
  { path: '/app/audit', icon: 'requests' },
  { path: '/app/legal', icon: 'requests' },
  { path: '/app/account', icon: 'settings' },
]

/** On the left, or on narrow screens below the top bar. */
function Navigation() {
  const words = useWords(shellWords)
  const language = useLanguage()
  const pathname = usePathname()
  return (
    <nav
      aria-label={words.mainNavigation}
      className="flex shrink-0 flex-wrap gap-0.5 p-3 max-md:border-b max-md:border-line md:w-56 md:flex-col"
    >
      {places.map(({ path, icon }) => {
        const isHere = pathname === path
        return (
          <Link
            key={path}
            href={path}
            aria-current={isHere ? 'page' : undefined}
            className={classNames(
              'flex min-h-9 items-center gap-3 rounded-md px-3 text-base no-underline transition-colors',
              isHere ? 'bg-accent-soft font-medium text-accent' : 'text-muted hover:bg-hover hover:text-ink',
            )}
          >
            <Icon name={icon} />
            {administrationRoutes[path].title[language]}
          </Link>
        )
      })}
    </nav>
  )
}
