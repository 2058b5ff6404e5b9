export type ImageMediaType =
  | 'image/png'
  | 'image/jpeg'
  | 'image/gif'
  | 'image/webp'
  | 'image/heic'
  | 'image/heif'

/** Bytes that are enough to detect the type of any image. */
export const signatureBytes = 12

/** Brands of the `ftyp` box (ISO/IEC 23008-12, annex B). The general `mif1` is also how AVIF may begin. */
const heifBrands: Readonly<Record<string, ImageMediaType>> = {
  heic: 'image/heic',
  heix: 'image/heic',
  hevc: 'image/heic',
  hevx: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
}

/** The type of an image, by its first 12 bytes; `undefined` if it is none that a provider takes. Pure. */
export function detectImageType(head: Buffer): ImageMediaType | undefined {
  const text = head.toString('latin1', 0, signatureBytes)
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif'
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'image/webp'
  return text.startsWith('ftyp', 4) ? heifBrands[text.slice(8)] : undefined
}
