import { useMemo } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'

type Values<Name extends string> = { readonly [Each in Name]?: string }

/**
 * Filters in the address, so that a link, a reload and "back" keep them. `undefined` or an empty text removes a filter;
 * others stay.
 */
export function useAddressFilters<const Name extends string>(
  names: readonly Name[],
): readonly [Values<Name>, (changes: { readonly [Each in Name]?: string | undefined }) => void] {
  const search = useSearch()
  const list = names.join(' ')
  const values = useMemo(() => {
    const given = new URLSearchParams(search)
    const found = list.split(' ').flatMap((name) => {
      const value = given.get(name)
      return value === null || value === '' ? [] : [[name, value]]
    })
    return Object.fromEntries(found) as Values<Name>
  }, [search, list])

  function change(changes: { readonly [Each in Name]?: string | undefined }): void {
    const asked = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries<string | undefined>(changes))
      if (value === undefined || value === '') asked.delete(name)
      else asked.set(name, value)
    const text = asked.toString()
    navigate(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace: true })
  }

  return [values, change]
}
