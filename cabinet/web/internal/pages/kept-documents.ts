import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Theme } from '../../../pages/preferences.ts'
import { type PublicPage, type PublicSite, writePublicDocument } from '../../../pages/public-document.ts'
import { etagOf } from './send-document.ts'

/** A document by the name of its encoding. Each form has its version. */
type KeptDocument = Readonly<Record<Encoding, { readonly etag: string; readonly body: Buffer }>>

export type Encoding = 'br' | 'gzip' | 'identity'

/**
 * Documents of pages that never change while the process runs, each written and compressed once for each theme when it
 * is first read. They are the same for everyone, so their length reveals nothing.
 */
export function createKeptDocuments(site: PublicSite): (page: PublicPage, theme: Theme) => KeptDocument {
  const kept = new Map<PublicPage, Map<Theme, KeptDocument>>()
  return (page, theme) => {
    const ofPage = kept.get(page) ?? new Map<Theme, KeptDocument>()
    kept.set(page, ofPage)
    const document = ofPage.get(theme) ?? prepare(writePublicDocument(page, site, theme))
    ofPage.set(theme, document)
    return document
  }
}

/** Brotli at its best takes tens of milliseconds for a long page, and this level is nearly as small. */
const brotliQuality = 6

function prepare(text: string): KeptDocument {
  const whole = Buffer.from(text)
  const etag = etagOf(text)
  const formOf = (encoding: Encoding, body: Buffer) => ({ etag: etag.replace(/"$/, `-${encoding}"`), body })
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality }
  return {
    identity: { etag, body: whole },
    gzip: formOf('gzip', gzipSync(whole)),
    br: formOf('br', brotliCompressSync(whole, { params })),
  }
}
