import type { Rule } from './option-rules.ts'
import { fieldsOf, first } from './schema.ts'
import { nestedBlocks } from './turns.ts'

const startsOfImages: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/png', /^\x89PNG\r\n/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
]

const images: Rule = ({ messages }) =>
  first(nestedBlocks(messages), ({ block, at }) => {
    const source = fieldsOf(block.source)
    if (block.type === 'image' && source?.type === 'base64') {
      const fault = findImageFault(String(source.data), String(source.media_type))
      return fault?.replace('AT', `${at}.image.source.base64`)
    }
    if (block.type === 'document' && source?.type === 'base64' && !isPdf(String(source.data)))
      return `${at}.pdf.source.base64.data: The PDF specified was not valid.`
    // The wording is unconfirmed.
    if (source?.type === 'url' && !String(source.url).startsWith('https://'))
      return `${at}.${block.type}.source.url.url: Only HTTPS URLs are supported.`
    return undefined
  })

function findImageFault(data: string, claimed: string): string | undefined {
  if (data === '') return 'AT: image cannot be empty'
  if (!isBase64(data)) return 'AT: invalid base64 data'
  const bytes = Buffer.from(data, 'base64').toString('latin1')
  const actual = startsOfImages.find(([, start]) => start.test(bytes))?.[0]
  if (actual === undefined) return 'Could not process image'
  return actual === claimed
    ? undefined
    : `AT: The image was specified using the ${claimed} media type, but the image appears to be a ${actual} image`
}

const isBase64 = (data: string) =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(data)
const isPdf = (data: string) =>
  isBase64(data) && Buffer.from(data, 'base64').toString('latin1').startsWith('%PDF-')

const marksMax = 4

const cacheMarks: Rule = (request) => {
  const { tools = [], system = [], messages, cache_control: automatic } = request
  const ofSystem = typeof system === 'string' ? [] : system
  const places = [
    ...tools.map((block, index) => ({ block, at: `tools.${index}` })),
    ...ofSystem.map((block, index) => ({ block, at: `system.${index}` })),
    ...nestedBlocks(messages),
  ]
  const marks = places.flatMap(({ block, at }) => {
    const mark = fieldsOf(block.cache_control)
    return mark === undefined ? [] : [{ ttl: mark.ttl ?? '5m', at }]
  })
  const count = marks.length + (automatic ? 1 : 0)
  if (count > marksMax)
    return `A maximum of ${marksMax} blocks with cache_control may be provided. Found ${count}.`
  const short = marks.findIndex(({ ttl }) => ttl === '5m')
  const late = short === -1 ? undefined : marks.find(({ ttl }, place) => ttl === '1h' && place > short)
  return (
    late &&
    `${late.at}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`
  )
}

/** What images, documents and cache marks may not be. */
export const contentRules: readonly Rule[] = [images, cacheMarks]
