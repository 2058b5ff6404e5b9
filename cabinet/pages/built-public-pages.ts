import type { PublicAssets } from './public-document.ts'

/** The file of a build with everything that its public pages consist of. */
export const builtPublicPagesFile = 'public-pages.json'

export type BuiltPublicPages = { readonly assets: PublicAssets }
