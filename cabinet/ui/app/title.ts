import { useEffect } from 'react'
import { pageTitle } from '../page-routes.ts'

/** What the browser's tab says; a page whose name is known only later says it again. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    if (name !== undefined) document.title = pageTitle(name)
  }, [name])
}
