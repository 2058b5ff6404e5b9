import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'
import { useDayEnd } from '../api/day-end.ts'
import { useLive } from '../api/live.ts'
import { useRead } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useWords } from '../i18n/language.ts'
import { Button } from '../kit/button.tsx'
import { classNames } from '../kit/class-names.ts'
import { Icon, type IconName } from '../kit/icon.tsx'
import { Money } from '../kit/money.tsx'
import { ProblemNote } from '../kit/problem-note.tsx'
import type { PagePath } from '../page-routes.ts'
import { Brand } from './brand.tsx'
import { ConsentsBanner } from './consents-banner.tsx'
import { chooseLanguage, type Right, signOut, useMay, useMe, useReloadForSomebodyElse } from './me.ts'
import { Menu } from './menu.tsx'
import { shellWords } from './messages.ts'
import { OrganizationMenu } from './organization-menu.tsx'
import { useKeptOrganization } from './organizations.ts'
import { preloadPage } from './pages.tsx'
import { Preferences } from './preferences-menu.tsx'

/** The frame around pages for signed-in users: their balance and the navigation. */
export function CabinetFrame({
  banner,
  children,
}: {
  readonly banner: ReactNode
  readonly children: ReactNode
}) {
  useLive()
  useDayEnd()
  useReloadForSomebodyElse()
  useKeptOrganization()
  return (
    <div className="flex min-h-dvh flex-col">
      <TopBar />
      {banner}
      <ConsentsBanner />
      <div className="flex w-full flex-1">
        <SideNavigation />
        <div className="flex min-w-0 flex-1 flex-col pb-16 md:border-s md:border-line md:pb-0">
          {children}
        </div>
      </div>
      <BottomNavigation />
    </div>
  )
}

function TopBar() {
  const words = useWords(shellWords)
  const me = useMe()
  const leaving = useChange(signOut)
  return (
    <header className="sticky top-0 z-30 flex min-h-14 items-center gap-3 border-b border-line bg-surface px-4">
      <Brand href="/app" />
      <div className="flex min-w-0 items-center border-line sm:border-s sm:ps-3">
        <OrganizationMenu />
      </div>
      <div className="ms-auto flex items-center gap-1">
        {useMay('billing.read') && <Balance />}
        <Menu icon="person" label={words.userMenu}>
          <div className="grid gap-4">
            <p className="px-2 text-sm break-words text-muted">{me.data?.email}</p>
            <Preferences onLanguage={chooseLanguage} />
            <Button variant="secondary" isPending={leaving.isPending} onClick={leaving.start}>
              {words.logout}
            </Button>
            {leaving.problem && <ProblemNote problem={leaving.problem} fallback={words.logoutFailed} />}
          </div>
        </Menu>
      </div>
    </header>
  )
}

function Balance() {
  const words = useWords(shellWords)
  const { data } = useRead('/balance')
  return (
    <Link
      href="/app/billing"
      className="flex min-h-9 items-center gap-2 rounded-md px-3 text-sm text-muted no-underline hover:bg-hover"
    >
      <span className="max-sm:sr-only">{words.balance}</span>
      <span className="min-w-16 text-end font-semibold text-ink">
        {data && <Money rubles={data.balance_rub} />}
      </span>
    </Link>
  )
}

type Place = {
  readonly path: PagePath
  readonly icon: IconName
  readonly word: keyof typeof shellWords.ru
  /** Users without this permission would be rejected there. */
  readonly right?: Right
}

const allPlaces: readonly Place[] = [
  { path: '/app', icon: 'overview', word: 'overview' },
  { path: '/app/keys', icon: 'key', word: 'keys', right: 'keys.read' },
  { path: '/app/usage', icon: 'usage', word: 'usage' },
  { path: '/app/requests', icon: 'requests', word: 'requests' },
  { path: '/app/billing', icon: 'billing', word: 'billing', right: 'billing.read' },
  { path: '/app/connect', icon: 'connect', word: 'connect', right: 'keys.read' },
  { path: '/app/playground', icon: 'playground', word: 'playground', right: 'keys.write' },
  { path: '/app/models', icon: 'models', word: 'models' },
  { path: '/app/team', icon: 'team', word: 'team' },
  { path: '/app/settings', icon: 'settings', word: 'settings' },
]

/** The navigation entries that the signed-in user may open. */
function usePlaces(): readonly Place[] {
  const rights = useMe().data?.organization?.rights
  return allPlaces.filter(
    ({ right }) => right === undefined || rights === undefined || rights.includes(right),
  )
}

const isAt = (pathname: string, path: string) =>
  pathname === path || (path !== '/app' && pathname.startsWith(`${path}/`))

function SideNavigation() {
  const words = useWords(shellWords)
  const pathname = usePathname()
  return (
    <nav
      aria-label={words.mainNavigation}
      className="sticky top-14 hidden h-[calc(100dvh-3.5rem)] w-56 shrink-0 flex-col gap-0.5 overflow-y-auto p-3 md:flex"
    >
      {usePlaces().map(({ path, icon, word }) => (
        <Link
          key={path}
          href={path}
          aria-current={isAt(pathname, path) ? 'page' : undefined}
          onPointerEnter={() => preloadPage(path)}
          className={classNames(
            'flex min-h-9 items-center gap-3 rounded-md px-3 text-base no-underline transition-colors',
            isAt(pathname, path)
              ? 'bg-accent-soft font-medium text-accent'
              : 'text-muted hover:bg-hover hover:text-ink',
          )}
        >
          <Icon name={icon} />
          {words[word]}
        </Link>
      ))}
    </nav>
  )
}

/** How many entries fit into the bottom bar of a narrow screen; the others are one tap away. */
const shownBelow = 4

function BottomNavigation() {
  const words = useWords(shellWords)
  const pathname = usePathname()
  return (
    <nav
      aria-label={words.mainNavigation}
      className="fixed inset-x-0 bottom-0 z-30 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul className="grid grid-cols-5">
        {usePlaces()
          .slice(0, shownBelow)
          .map((place) => (
            <li key={place.path}>
              <BottomLink {...place} isCurrent={isAt(pathname, place.path)} />
            </li>
          ))}
        <li>
          <MorePlaces pathname={pathname} label={words.more} />
        </li>
      </ul>
    </nav>
  )
}

const below = 'flex min-h-14 w-full flex-col items-center justify-center gap-0.5 px-1 text-xs no-underline'

function BottomLink({ path, icon, word, isCurrent }: Place & { readonly isCurrent: boolean }) {
  const words = useWords(shellWords)
  return (
    <Link
      href={path}
      aria-current={isCurrent ? 'page' : undefined}
      className={classNames(below, isCurrent ? 'font-medium text-accent' : 'text-muted')}
    >
      <Icon name={icon} />
      <span className="max-w-full truncate">{words[word]}</span>
    </Link>
  )
}

function MorePlaces({ pathname, label }: { readonly pathname: string; readonly label: string }) {
  const words = useWords(shellWords)
  const rest = usePlaces().slice(shownBelow)
  const isHere = rest.some(({ path }) => isAt(pathname, path))
  return (
    <>
      <button
        type="button"
        popoverTarget="more-places"
        className={classNames(below, isHere ? 'font-medium text-accent' : 'text-muted')}
      >
        <Icon name="more" />
        {label}
      </button>
      <div
        key={pathname}
        id="more-places"
        popover="auto"
        className="fixed inset-auto end-2 bottom-16 m-0 w-60 rounded-lg border border-line bg-raised p-2 text-ink shadow-floating"
      >
        {rest.map(({ path, icon, word }) => (
          <Link
            key={path}
            href={path}
            aria-current={isAt(pathname, path) ? 'page' : undefined}
            className="flex min-h-11 items-center gap-3 rounded-md px-3 text-base text-ink no-underline hover:bg-hover"
          >
            <Icon name={icon} />
            {words[word]}
          </Link>
        ))}
      </div>
    </>
  )
}
