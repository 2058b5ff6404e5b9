import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findRoute, notFoundTitle, pageTitle, type RouteTable } from '../../../pages/route-table.ts'
import type { Preferences } from './request-preferences.ts'

/** The built pages. */
export type BuiltPages = {
  /** `assets/`. File names change with their content. */
  readonly assetsFolder: string
  readonly icon: Buffer
  /** The document of a path, whether the path has a page, and whether the page is the same for everyone. */
  render(
    pathname: string,
    preferences: Preferences,
  ): { readonly isFound: boolean; readonly isPublic: boolean; readonly html: string }
}

const head = '<html lang="ru" data-theme="system">'
const title = '<title>Model Gateway</title>'

/**
 * Reads the built pages of these routes; `undefined`: they are not built.
 * @throws Error for an unexpected document.
 */
export function findBuiltPages(folder: string, routes: RouteTable): BuiltPages | undefined {
  const document = findFile(join(folder, 'index.html'))?.toString()
  const icon = findFile(join(folder, 'icon.svg'))
  if (document === undefined || icon === undefined) return undefined
  if (!document.includes(head) || !document.includes(title))
    throw new Error(`${folder}/index.html is not a document of the cabinet's pages`)
  const paths = Object.keys(routes)
  return {
    assetsFolder: join(folder, 'assets'),
    icon,
    render(pathname, { language, theme }) {
      const route = routes[findRoute(paths, pathname)?.path ?? '']
      const name = (route?.title ?? notFoundTitle)[language]
      const html = document
        .replace(head, `<html lang="${language}" data-theme="${theme}">`)
        .replace(title, `<title>${pageTitle(name)}</title>`)
      return { isFound: route !== undefined, isPublic: route?.area === 'public', html }
    },
  }
}

/** `undefined` if the file does not exist. */
export function findFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
