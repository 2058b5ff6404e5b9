import type { ComponentType } from 'react'
import type { PageParams, PagePath } from '../page-routes.ts'

/** What a page is given: the variable parts of its address. */
export type PageProps = { readonly params: PageParams }

/** The pages of a group, by route: they are loaded together, in one chunk. */
export type PageGroup<Path extends PagePath = PagePath> = Readonly<Record<Path, ComponentType<PageProps>>>
