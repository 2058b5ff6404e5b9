import { useEffect, useLayoutEffect } from 'react'
import { pageTitle } from '../page-routes.ts'
import { useLanguage } from '../words/language.ts'

/** What the browser's tab says of a route: before the page's own name, even where that is known at once. */
export function useRouteTitle(name: string): void {
  useLayoutEffect(() => {
    document.title = pageTitle(name)
  }, [name])
}

/** What it says of a page whose name is known only later. */
export function useTitle(name: string | undefined): void {
  const language = useLanguage()
  // biome-ignore lint/correctness/useExhaustiveDependencies: in another language the route says its own name again
  useEffect(() => {
    if (name !== undefined) document.title = pageTitle(name)
  }, [name, language])
}
