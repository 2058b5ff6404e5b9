import type { ComponentType } from 'react'
import type { PagePath } from '../page-routes.ts'
import type { PageParams } from '../route-table.ts'

/** The props of a page: the variable parts of its address. */
export type PageProps = { readonly params: PageParams }

/** The pages of a group, by route; one chunk contains all of them. */
export type PageGroup<Path extends PagePath = PagePath> = Readonly<Record<Path, ComponentType<PageProps>>>
