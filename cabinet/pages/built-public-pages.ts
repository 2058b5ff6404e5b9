import type { Language } from './preferences.ts'
import type { PublicAssets } from './public-document.ts'

/** The file of a build with everything that its public pages consist of. */
export const builtPublicPagesFile = 'public-pages.json'

export type BuiltPublicPages = { readonly assets: PublicAssets; readonly docs: readonly BuiltDoc[] }

/** A page of the documentation. Its texts name our addresses as `npm start` has them. */
export type BuiltDoc = {
  readonly language: Language
  /** `/docs/errors`, the same in every language. */
  readonly path: string
  readonly languages: readonly Language[]
  readonly title: string
  readonly description: string
  /** The content of `<main>`, as HTML. */
  readonly body: string
  readonly markdown: string
  readonly markdownAddress: string
}
