import { type RefObject, Suspense, useEffect, useRef } from 'react'
import { usePathname } from 'wouter/use-browser-location'
import { useLanguage, useWords } from '../i18n/language.ts'
import { OfflineBanner } from '../kit/offline-banner.tsx'
import { Toasts } from '../kit/toasts.tsx'
import { findPage, pageRoutes } from '../page-routes.ts'
import { notFoundTitle } from '../route-table.ts'
import { CabinetFrame } from './cabinet-frame.tsx'
import { Failing } from './failing.tsx'
import { MembersOnly } from './members-only.tsx'
import { shellWords } from './messages.ts'
import { NotFoundPage } from './not-found-page.tsx'
import { pageOf } from './pages.tsx'
import { SiteFrame } from './site-frame.tsx'
import { useRouteTitle } from './title.ts'

/** The page of the present address, in the frame of its area. */
export function App() {
  const pathname = usePathname()
  const words = useWords(shellWords)
  const language = useLanguage()
  const found = findPage(pathname)
  const route = found && pageRoutes[found.path]
  const main = useRef<HTMLElement>(null)
  useRouteTitle((route?.title ?? notFoundTitle)[language])
  useFocusOnMove(pathname, main)

  const Frame = route?.area === 'app' ? CabinetFrame : SiteFrame
  return (
    <>
      <a
        href="#main"
        className="fixed start-4 -top-20 z-50 rounded-md bg-accent px-4 py-2 font-medium text-on-accent focus:top-2"
      >
        {words.skip}
      </a>
      <Frame banner={<OfflineBanner />}>
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className={`mx-auto w-full flex-1 px-4 py-8 sm:px-6 ${route?.area === 'entry' ? 'max-w-md' : 'max-w-6xl'}`}
        >
          <Failing key={pathname} path={found?.path}>
            <Suspense fallback={<div className="min-h-dvh" />}>
              {found === undefined ? <NotFoundPage /> : <AreaPage {...found} />}
            </Suspense>
          </Failing>
        </main>
      </Frame>
      <Toasts />
    </>
  )
}

function AreaPage(found: NonNullable<ReturnType<typeof findPage>>) {
  if (pageRoutes[found.path].area !== 'app') return <RoutePage {...found} />
  return (
    <MembersOnly path={found.path}>
      <RoutePage {...found} />
    </MembersOnly>
  )
}

/** Remounting shows the page as it was first loaded. */
function RoutePage({ path, params }: NonNullable<ReturnType<typeof findPage>>) {
  const Page = pageOf(path)
  return <Page params={params} />
}

/** Keyboard and screen reader users continue at the content of a new page; the first page is read from its top. */
function useFocusOnMove(pathname: string, main: RefObject<HTMLElement | null>): void {
  const shown = useRef(pathname)
  useEffect(() => {
    if (shown.current === pathname) return
    shown.current = pathname
    main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [pathname, main])
}
