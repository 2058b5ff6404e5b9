import { parseDocument } from 'yaml'

/** An image in a registry, by digest. */
export type PinnedImage = { readonly repository: string; readonly digest: string }

/** `values.yaml` of a chart that runs exactly this image. Comments stay. Pure. */
export function withPinnedImage(values: string, { repository, digest }: PinnedImage): string {
  const document = parseDocument(values)
  if (!document.hasIn(['image', 'digest']) || !document.hasIn(['image', 'repository']))
    throw new Error('values.yaml has no image.repository or no image.digest')
  document.setIn(['image', 'repository'], repository)
  document.setIn(['image', 'digest'], digest)
  return document.toString({ lineWidth: 0 })
}
