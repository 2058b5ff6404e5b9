import { Component, type ReactNode, type RefObject, Suspense, useEffect, useRef } from 'react'
import { usePathname } from 'wouter/use-browser-location'
import { administrationRoutes } from '../administration-routes.ts'
import { shellWords } from '../app/messages.ts'
import { PageFailed } from '../app/page-failed.tsx'
import { useRouteTitle } from '../app/title.ts'
import { useLanguage, useWords } from '../i18n/language.ts'
import { Toasts } from '../kit/toasts.tsx'
import { notFoundTitle } from '../route-table.ts'
import { findAdministrationPage } from './find-page.ts'
import { EntryFrame, SignedInFrame } from './frames.tsx'
import { NotFoundPage } from './not-found-page.tsx'
import { pageOf } from './pages.tsx'
import { StepUpDialog } from './step-up.tsx'

/** The page of the present address. */
export function AdministrationApp() {
  const pathname = usePathname()
  const words = useWords(shellWords)
  const language = useLanguage()
  const found = findAdministrationPage(pathname)
  const title = found === undefined ? notFoundTitle : administrationRoutes[found.path].title
  const main = useRef<HTMLElement>(null)
  useRouteTitle(title[language])
  useFocusOnMove(pathname, main)

  const isEntry = !pathname.startsWith('/app')
  const Frame = isEntry ? EntryFrame : SignedInFrame
  return (
    <>
      <a
        href="#main"
        className="fixed start-4 -top-20 z-50 rounded-md bg-accent px-4 py-2 font-medium text-on-accent focus:top-2"
      >
        {words.skip}
      </a>
      <Frame>
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className={`mx-auto w-full flex-1 px-4 py-8 sm:px-6 ${isEntry ? 'max-w-md' : 'max-w-6xl'}`}
        >
          <Contained key={pathname}>
            <Suspense fallback={<div className="min-h-dvh" />}>
              {found === undefined ? <NotFoundPage /> : <RoutePage {...found} />}
            </Suspense>
          </Contained>
        </main>
      </Frame>
      <StepUpDialog />
      <Toasts />
    </>
  )
}

function RoutePage({ path, params }: NonNullable<ReturnType<typeof findAdministrationPage>>) {
  const Page = pageOf[path]
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

/** Contains the failure of a page that could not be loaded or rendered. */
class Contained extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <PageFailed /> : this.props.children
  }
}
