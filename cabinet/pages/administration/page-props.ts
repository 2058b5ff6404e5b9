import type { PageParams } from '../route-table.ts'

/** The props of a page: the variable parts of its address. */
export type PageProps = { readonly params: PageParams }
