import { type ComponentType, lazy } from 'react'
import type { PagePath } from '../page-routes.ts'
import type { PageGroup, PageProps } from './page-group.ts'

/** The pages of each group, and how to load it. */
const groups = {
  site: () => import('../features/site/site-pages.ts').then((module) => module.sitePages),
  models: () => import('../features/models/model-pages.ts').then((module) => module.modelPages),
  legal: () => import('../features/legal/legal-pages.ts').then((module) => module.legalPages),
  entry: () => import('../features/entry/entry-pages.ts').then((module) => module.entryPages),
  overview: () => import('../features/overview/overview-pages.ts').then((module) => module.overviewPages),
  keys: () => import('../features/keys/key-pages.ts').then((module) => module.keyPages),
  usage: () => import('../features/usage/usage-pages.ts').then((module) => module.usagePages),
  billing: () => import('../features/billing/billing-pages.ts').then((module) => module.billingPages),
  connect: () => import('../features/connect/connect-pages.ts').then((module) => module.connectPages),
  playground: () =>
    import('../features/playground/playground-pages.ts').then((module) => module.playgroundPages),
  team: () => import('../features/team/team-pages.ts').then((module) => module.teamPages),
  settings: () => import('../features/settings/settings-pages.ts').then((module) => module.settingsPages),
}

type Group = keyof typeof groups

const groupOf: Readonly<Record<PagePath, Group>> = {
  '/': 'site',
  '/legal': 'legal',
  '/legal/:kind': 'legal',
  '/legal/:kind/:version': 'legal',
  '/login': 'entry',
  '/login/totp': 'entry',
  '/register': 'entry',
  '/verify-email': 'entry',
  '/reset': 'entry',
  '/totp-reset': 'entry',
  '/email-change': 'entry',
  '/app': 'overview',
  '/app/keys': 'keys',
  '/app/keys/:key_id': 'keys',
  '/app/usage': 'usage',
  '/app/requests': 'usage',
  '/app/requests/:request_id': 'usage',
  '/app/billing': 'billing',
  '/app/billing/payments': 'billing',
  '/app/billing/history': 'billing',
  '/app/billing/return': 'billing',
  '/app/connect': 'connect',
  '/app/playground': 'playground',
  '/app/models': 'models',
  '/app/models/compare': 'models',
  '/app/models/*': 'models',
  '/app/team': 'team',
  '/app/invitations/:invitation_id': 'team',
  '/app/settings': 'settings',
}

const pages = new Map<PagePath, ComponentType<PageProps>>()

/** Thrown when a page is rendered whose chunk could not be loaded. */
export class PageNotLoaded extends Error {
  override readonly name = 'PageNotLoaded'
}

function notLoaded(cause: unknown): never {
  throw new PageNotLoaded('the page could not be loaded', { cause })
}

/** The page of a route, loaded when it is first rendered. */
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

/** Loads a failed chunk again; then the page can be rendered. Rejects if it is still unavailable. */
export async function loadPageAgain(path: PagePath): Promise<void> {
  await groups[groupOf[path]]()
  pages.delete(path) // React keeps the rejection of a `lazy`
}

/** Starts loading the target of a link before the link is followed. */
export function preloadPage(path: PagePath): void {
  void groups[groupOf[path]]().catch(() => undefined)
}
