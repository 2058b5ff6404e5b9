import { deflateSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { workThrough } from '../wire/turns.ts'
import { takeApart } from './measurable-prompt.ts'
import { familyOf, type ModelFamily } from './model-families.ts'
import { createPromptMeasurer } from './prompt-measurer.ts'

const measurer = createPromptMeasurer((error) => {
  throw error
})
afterAll(() => measurer.stop())

function family(name: string): ModelFamily {
  const found = familyOf([name])
  if (found === undefined) throw new Error(`${name} has no family`)
  return found
}

const user = (content: unknown) => ({ model: 'a/m', messages: [{ role: 'user', content }] })

/** Tokens of only the media or text of a request: without names, roles and the tokens around each. */
async function tokensOf(request: object, name: string): Promise<number | null | undefined> {
  const prompt = await workThrough(takeApart(request as never), 0)
  if (prompt === null) return undefined
  const [tokens] = (await measurer.measure('owner', prompt, [family(name)])) ?? []
  const frames = 16 * (prompt.texts.length + prompt.media.length)
  return tokens == null ? tokens : tokens - prompt.otherBytes - frames
}

/** A PNG of this size, of which only the header matters. */
function png(width: number, height: number): string {
  const header = Buffer.alloc(25)
  header.writeUInt32BE(13, 0)
  header.write('IHDR', 4, 'latin1')
  header.writeUInt32BE(width, 8)
  header.writeUInt32BE(height, 12)
  header[16] = 8
  const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), header, deflateSync(Buffer.alloc(9))])
  return `data:image/png;base64,${bytes.toString('base64')}`
}

const image = (url: string, detail?: string) => ({
  type: 'image_url',
  image_url: detail ? { url, detail } : { url },
})

describe('text', () => {
  const russian = 'Съешь ещё этих мягких французских булок. '.repeat(100)

  test('counts by its family’s tokenizer, by bytes where none is published', async () => {
    expect(await tokensOf(user(russian), 'gpt-4o')).toBe(1_201)
    expect(await tokensOf(user(russian), 'claude-opus-4')).toBe(Buffer.byteLength(russian))
  })

  test('is never more than its bytes, however a run of it was cut', async () => {
    for (const text of ['a'.repeat(50_000), ' '.repeat(50_000), '\u{1F9D1}‍\u{1F680}'.repeat(500)])
      expect(await tokensOf(user(text), 'gpt-4o')).toBeLessThanOrEqual(Buffer.byteLength(text))
  })
})

describe('an image', () => {
  test.each([
    ['gpt-4o', png(512, 512), undefined, 255],
    ['gpt-4o', png(4_096, 8_192), undefined, 1_105],
    ['gpt-4o', png(4_096, 8_192), 'low', 85],
    ['gpt-4o', 'https://example.com/a.png', undefined, 1_445],
    ['gpt-4o', 'data:image/png;base64,QUFB', undefined, 1_445],
    ['gpt-4.1-mini', png(1_024, 1_024), undefined, 1_659],
    ['gpt-4.1-mini', png(10_000, 10_000), undefined, 2_489],
    ['gemini-2.5-flash', png(384, 384), undefined, 258],
    ['gemini-2.5-flash', png(1_000, 1_000), undefined, 1_032],
    ['claude-opus-4-7', png(9_000, 9_000), undefined, 4_784],
  ])('of %s', async (name, url, detail, tokens) => {
    expect(await tokensOf(user([image(url, detail)]), name)).toBe(tokens)
  })

  test('has no bound where its size is not known and no most is published, or nothing at all', async () => {
    expect(await tokensOf(user([image('https://example.com/a.png')]), 'gemini-2.5-flash')).toBeNull()
    expect(await tokensOf(user([image(png(9, 9))]), 'gpt-5.4')).toBeNull()
  })
})

describe('sound', () => {
  const wav = (rate: number, seconds: number, format = 1) => {
    const header = Buffer.alloc(44)
    header.write('RIFF', 0, 'latin1')
    header.write('WAVEfmt ', 8, 'latin1')
    header.writeUInt32LE(16, 16)
    header.writeUInt16LE(format, 20)
    header.writeUInt16LE(1, 22)
    header.writeUInt32LE(rate, 24)
    header.writeUInt16LE(16, 34)
    return Buffer.concat([header, Buffer.alloc(rate * 2 * seconds)])
  }
  const sound = (bytes: Buffer, format: string) => [
    { type: 'input_audio', input_audio: { data: bytes.toString('base64'), format } },
  ]

  test('counts by its duration, that of MP3 at its lowest rate', async () => {
    expect(await tokensOf(user(sound(wav(8_000, 10), 'wav')), 'gpt-4o-audio-preview')).toBe(101)
    expect(await tokensOf(user(sound(wav(8_000, 10), 'wav')), 'gemini-2.5-flash')).toBe(321)
    expect(await tokensOf(user(sound(Buffer.alloc(5_000), 'mp3')), 'gemini-2.5-flash')).toBe(160)
  })

  test('has no bound where its header is not to be believed', async () => {
    for (const bytes of [
      wav(4_000_000, 1),
      wav(8_000, 1, 2),
      Buffer.from('no sound at all, whatever is said'),
    ])
      expect(await tokensOf(user(sound(bytes, 'wav')), 'gemini-2.5-flash')).toBeNull()
    expect(await tokensOf(user(sound(wav(8_000, 1), 'ogg')), 'gemini-2.5-flash')).toBeNull()
  })
})

describe('a PDF', () => {
  /** A PDF of so many empty pages. */
  function pdf(pages: number): string {
    const objects = [
      '<</Type/Catalog/Pages 2 0 R>>',
      `<</Type/Pages/Count ${pages}/Kids[${Array.from({ length: pages }, (_, at) => `${at + 3} 0 R`).join(' ')}]>>`,
      ...Array.from({ length: pages }, () => '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>'),
    ]
    let text = '%PDF-1.4\n'
    const places = objects.map((object, at) => {
      const place = text.length
      text += `${at + 1} 0 obj${object}endobj\n`
      return place
    })
    const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
    const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`
    text += `${table}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF`
    return Buffer.from(text).toString('base64')
  }
  const file = (data: string) => [
    { type: 'file', file: { file_data: `data:application/pdf;base64,${data}` } },
  ]

  test('counts by its pages', async () => {
    expect(await tokensOf(user(file(pdf(7))), 'gemini-2.5-flash')).toBe(7 * 258)
  })

  test('has no bound where it cannot be read, or its family publishes none', async () => {
    expect(await tokensOf(user(file('QUFB')), 'gemini-2.5-flash')).toBeNull()
    expect(await tokensOf(user(file(pdf(1))), 'gpt-4o')).toBeNull()
  })
})

test.each([
  ['a file that only its provider has', user([{ type: 'file', file: { file_id: 'x' } }])],
  ['a video', user([{ type: 'video_url', video_url: { url: 'x' } }])],
  ['an image with something next to it', user([{ ...image('x'), max_pixels: 9 }])],
  ['files of a message', { messages: [{ role: 'user', content: 'x', file_ids: ['x'] }] }],
])('%s cannot be measured', async (_case, request) => {
  expect(await tokensOf(request, 'gpt-4o')).toBeUndefined()
})

test('an owner with a running measurement waits for it, and delays no other owner', async () => {
  const prompt = { texts: ['x '.repeat(200_000)], otherBytes: 0, media: [] }
  const families = [family('gpt-4o')]
  const first = measurer.measure('a', prompt, families)
  expect(await measurer.measure('a', prompt, families)).toBeUndefined()
  expect(await measurer.measure('b', prompt, families)).toHaveLength(1)
  expect(await first).toHaveLength(1)
  expect(await measurer.measure('a', prompt, families)).toHaveLength(1)
})

test('more text than there is time for is not measured', async () => {
  const texts = Array.from({ length: 9 }, () => 'x'.repeat(1024 * 1024))
  expect(await measurer.measure('a', { texts, otherBytes: 0, media: [] }, [family('gpt-4o')])).toBeUndefined()
})
