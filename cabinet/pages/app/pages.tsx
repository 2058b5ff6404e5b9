import { type ComponentType, lazy } from 'react'
import type { PagePath } from '../page-routes.ts'
import type { PageGroup, PageProps } from './page-group.ts'

/** Which group has which pages, and how it is loaded. */
const groups = {
  site: () => import('../pages/site/site-pages.ts').then((module) => module.sitePages),
  models: () => import('../pages/models/model-pages.ts').then((module) => module.modelPages),
  legal: () => import('../pages/legal/legal-pages.ts').then((module) => module.legalPages),
  entry: () => import('../pages/entry/entry-pages.ts').then((module) => module.entryPages),
  overview: () => import('../pages/overview/overview-pages.ts').then((module) => module.overviewPages),
  keys: () => import('../pages/keys/key-pages.ts').then((module) => module.keyPages),
  usage: () => import('../pages/usage/usage-pages.ts').then((module) => module.usagePages),
  billing: () => import('../pages/billing/billing-pages.ts').then((module) => module.billingPages),
  playground: () =>
    import('../pages/playground/playground-pages.ts').then((module) => module.playgroundPages),
  settings: () => import('../pages/settings/settings-pages.ts').then((module) => module.settingsPages),
}

type Group = keyof typeof groups

const groupOf: Readonly<Record<PagePath, Group>> = {
  '/': 'site',
  '/models': 'models',
  '/models/*': 'models',
  '/legal': 'legal',
  '/legal/:kind': 'legal',
  '/legal/:kind/:version': 'legal',
  '/login': 'entry',
  '/login/totp': 'entry',
  '/register': 'entry',
  '/verify-email': 'entry',
  '/reset': 'entry',
  '/app': 'overview',
  '/app/keys': 'keys',
  '/app/keys/:key_id': 'keys',
  '/app/usage': 'usage',
  '/app/requests': 'usage',
  '/app/requests/:request_id': 'usage',
  '/app/billing': 'billing',
  '/app/billing/return': 'billing',
  '/app/playground': 'playground',
  '/app/settings': 'settings',
}

const pages = new Map<PagePath, ComponentType<PageProps>>()

/** What is thrown where a page is drawn whose chunk could not be had. */
export class PageNotLoaded extends Error {
  override readonly name = 'PageNotLoaded'
}

function notLoaded(cause: unknown): never {
  throw new PageNotLoaded('the page could not be loaded', { cause })
}

/** The page of a route, which loads itself when it is drawn. */
export function pageOf(path: PagePath): ComponentType<PageProps> {
  const known = pages.get(path)
  if (known !== undefined) return known
  const load = groups[groupOf[path]] as () => Promise<Partial<PageGroup>>
  const page = lazy(async () => {
    const component = (await load().catch(notLoaded))[path]
    if (component === undefined) throw new Error(`no page for ${path}`)
    return { default: component }
  })
  pages.set(path, page)
  return page
}

/** Loads what could not be loaded: drawn anew, it is there. Rejects if it cannot be had now either. */
export async function loadPageAgain(path: PagePath): Promise<void> {
  await groups[groupOf[path]]()
  pages.delete(path) // React keeps what a `lazy` was rejected with
}

/** Begins to load what a link leads to, before it is followed. */
export function preloadPage(path: PagePath): void {
  void groups[groupOf[path]]().catch(() => undefined)
}
