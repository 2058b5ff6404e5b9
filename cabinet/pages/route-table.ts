import type { Language } from './preferences.ts'

type Titles = Readonly<Record<Language, string>>

/**
 * Addresses and the titles of their pages. A part may be `:name`, and the last one `*`: the rest, slashes included.
 * Browsers may keep pages of the area `public`.
 */
export type RouteTable = Readonly<Record<string, { readonly title: Titles; readonly area?: string }>>

/** The variable parts of a page's address; `*` is the whole rest, slashes included. */
export type PageParams = Readonly<Record<string, string>>

/** The page of an address, with its variable parts decoded; `undefined`: none. Pure. */
export function findRoute<Path extends string>(
  paths: readonly Path[],
  pathname: string,
): { readonly path: Path; readonly params: PageParams } | undefined {
  const parts = partsOf(pathname)
  if (parts === undefined) return undefined
  for (const path of paths) {
    const params = match(path.slice(1).split('/'), parts)
    if (params !== undefined) return { path, params }
  }
  return undefined
}

/** Without a trailing slash; `undefined` if the encoding is invalid. */
function partsOf(pathname: string): readonly string[] | undefined {
  try {
    return pathname.replace(/\/$/, '').split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function match(pattern: readonly string[], parts: readonly string[]): PageParams | undefined {
  const params: Record<string, string> = {}
  const given = parts.length === 0 ? [''] : parts
  for (const [index, wanted] of pattern.entries()) {
    const part = given[index]
    if (part === undefined || (part === '' && wanted !== '')) return undefined
    if (wanted === '*') return { '*': given.slice(index).join('/') }
    if (wanted.startsWith(':')) params[wanted.slice(1)] = part
    else if (wanted !== part) return undefined
  }
  return given.length === pattern.length ? params : undefined
}

export const productName = 'Model Gateway'

/** The title in the browser's tab. Pure. */
export function pageTitle(name: string): string {
  return `${name} · ${productName}`
}

export const notFoundTitle: Titles = {
  ru: 'Страница не найдена',
  en: 'Page not found',
}
