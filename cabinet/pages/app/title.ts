import { useEffect, useLayoutEffect } from 'react'
import { useLanguage } from '../i18n/language.ts'
import { pageTitle } from '../route-table.ts'

/** The title of a route in the browser's tab, before the page's own name. */
export function useRouteTitle(name: string): void {
  useLayoutEffect(() => {
    document.title = pageTitle(name)
  }, [name])
}

/** Sets the title of a page whose name is known only after loading. */
export function useTitle(name: string | undefined): void {
  const language = useLanguage()
  // biome-ignore lint/correctness/useExhaustiveDependencies: in another language the route has another title
  useEffect(() => {
    if (name !== undefined) document.title = pageTitle(name)
  }, [name, language])
}
