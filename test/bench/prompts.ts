import { randomBytes } from 'node:crypto'
import { takeApart } from '#gateway/tokens/measurable-prompt'
import { familyOf, type ModelFamily } from '#gateway/tokens/model-families'
import { createPromptMeasurer, type PromptMeasurer } from '#gateway/tokens/prompt-measurer'
import { workThrough } from '#gateway/wire/turns'

/** How long prompts with large media take to be measured, in ms. */
export type PromptTimes = {
  readonly name: string
  readonly bodyMiB: number
  /** With the start of the measuring thread. */
  readonly firstMs: number
  /** The median of the others, of which so much is spent in steps on the event loop. */
  readonly medianMs: number
  readonly ofWhichTakeApartMs: number
  /** `null`: it was not measured in time, or nothing bounds it. */
  readonly tokens: number | null
}

const repeats = 5
const pdfBytes = 20 * 1024 * 1024
const pdfPages = 200
const imageCount = 100
const imageBytes = 150 * 1024

/** Measures a PDF of 20 MB and 100 images, as the gateway does if their free bound does not fit the balance. */
export async function measurePrompts(): Promise<readonly PromptTimes[]> {
  const pdf = `data:application/pdf;base64,${makePdf(pdfPages, pdfBytes).toString('base64')}`
  const images = Array.from({ length: imageCount }, () => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${makePng(1024, 1024, imageBytes).toString('base64')}` },
  }))
  return [
    await timesOf('20 MB PDF', 'gemini-2.5-flash', [{ type: 'file', file: { file_data: pdf } }]),
    await timesOf('100 images', 'gpt-4o', images),
  ]
}

async function timesOf(name: string, model: string, content: readonly object[]): Promise<PromptTimes> {
  const family = familyOf([model])
  if (family === undefined) throw new Error(`${model} has no family`)
  const body = { model, messages: [{ role: 'user', content }] }
  const measurer = createPromptMeasurer((error) => {
    throw error
  })
  const all: { readonly takeApartMs: number; readonly ms: number; readonly tokens: number | null }[] = []
  for (let n = 0; n < repeats + 1; n++) all.push(await measureOnce(measurer, family, body))
  await measurer.stop()
  const [first, ...others] = all
  const median = others.toSorted((a, b) => a.ms - b.ms)[Math.floor(repeats / 2)]
  return {
    name,
    bodyMiB: round(JSON.stringify(body).length / 1024 ** 2),
    firstMs: round(first?.ms ?? Number.NaN),
    medianMs: round(median?.ms ?? Number.NaN),
    ofWhichTakeApartMs: round(median?.takeApartMs ?? Number.NaN),
    tokens: first?.tokens ?? null,
  }
}

async function measureOnce(measurer: PromptMeasurer, family: ModelFamily, body: object) {
  const beganAtMs = performance.now()
  const prompt = await workThrough(takeApart({ ...body }), 0)
  const takeApartMs = performance.now() - beganAtMs
  if (prompt === null) throw new Error('the prompt cannot be measured')
  const [tokens] = (await measurer.measure('bench', prompt, [family])) ?? []
  return { takeApartMs, ms: performance.now() - beganAtMs, tokens: tokens ?? null }
}

/** A PDF with so many pages, each with its own stream that no compression makes smaller. */
function makePdf(pages: number, bytes: number): Buffer {
  const parts: Buffer[] = []
  const places: number[] = []
  let length = 0
  const add = (part: Buffer | string) => {
    const added = typeof part === 'string' ? Buffer.from(part, 'latin1') : part
    parts.push(added)
    length += added.length
  }
  const addObject = (...content: readonly (Buffer | string)[]) => {
    places.push(length)
    add(`${places.length} 0 obj`)
    for (const part of content) add(part)
    add('endobj\n')
  }
  const streamBytes = Math.floor(bytes / pages)
  const pageAt = (n: number) => `${2 * n + 3} 0 R`
  add('%PDF-1.4\n')
  addObject('<</Type/Catalog/Pages 2 0 R>>')
  addObject(
    `<</Type/Pages/Count ${pages}/Kids[${Array.from({ length: pages }, (_, n) => pageAt(n)).join(' ')}]>>`,
  )
  for (let n = 0; n < pages; n++) {
    addObject(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents ${2 * n + 4} 0 R>>`)
    addObject(`<</Length ${streamBytes}>>stream\n`, randomBytes(streamBytes), '\nendstream ')
  }
  const tableAt = length
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const size = places.length + 1
  add(`xref\n0 ${size}\n0000000000 65535 f \n${rows}`)
  add(`trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${tableAt}\n%%EOF`)
  return Buffer.concat(parts)
}

/** A PNG of this size, of which only the header is looked at. */
function makePng(width: number, height: number, bytes: number): Buffer {
  const header = Buffer.alloc(25)
  header.writeUInt32BE(13, 0)
  header.write('IHDR', 4, 'latin1')
  header.writeUInt32BE(width, 8)
  header.writeUInt32BE(height, 12)
  header[16] = 8
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), header, randomBytes(bytes)])
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
