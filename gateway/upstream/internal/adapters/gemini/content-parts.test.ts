import { expect, test } from 'vitest'
import { LongText, piecesOf, stringLengthMax } from '../../../../wire/long-text.ts'
import { failureOfRequest } from '../../../failure.ts'
import type { FetchImage } from '../../../provider-adapter.ts'
import type { Blob } from './writing.ts'
import { rejectionOf, sentFor, writtenFor } from './written-chat.fixture.ts'

const base64 = (head: string) => Buffer.from(`${head.padEnd(15, '.')}`, 'latin1').toString('base64')
const png = base64('\x89PNG\r\n\x1a\n')
const gif = base64('GIF89a')
const pdf = base64('%PDF-1.7')
const image = (url: unknown) => ({ type: 'image_url', image_url: { url, detail: 'low' } })
const file = (file_data: unknown) => ({ type: 'file', file: { filename: 'a', file_data } })
const audio = (data: unknown, format = 'wav') => ({ type: 'input_audio', input_audio: { data, format } })
const request = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
const partsOf = async (...content: readonly object[]) =>
  (await sentFor(request(...content))).sent.contents[0].parts

test('images, files and sound go as data, in their order', async () => {
  const parts = await partsOf(
    { type: 'text', text: 'Look' },
    image(`data:image/png;base64,${png}`),
    file(`data:application/pdf;base64,${pdf}`),
    audio('AAAA'),
    audio('AAAA', 'mp3'),
  )
  expect(parts).toEqual([
    { text: 'Look' },
    { inlineData: { mimeType: 'image/png', data: png } },
    { inlineData: { mimeType: 'application/pdf', data: pdf } },
    { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
    { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
  ])
})

test('an image that is called by another type goes as what it is', async () => {
  expect(await partsOf(image(`data:image/jpeg;base64,${png}`))).toEqual([
    { inlineData: { mimeType: 'image/png', data: png } },
  ])
})

test('a long image stays in its pieces', async () => {
  const long = 'A'.repeat(stringLengthMax)
  const url = new LongText(['data:image/png;base64,', png.slice(0, 8), png.slice(8), long])
  const { call } = await sentFor(request(image(url)))
  const [{ inlineData }] = (call.json.contents as [{ parts: [{ inlineData: Blob }] }])[0].parts
  expect(inlineData.mimeType).toBe('image/png')
  expect(piecesOf(inlineData.data).at(-1)).toBe(long)
  expect(String(inlineData.data) === png + long).toBe(true)
})

const at = 'messages[0].content[0]'

test.each([
  ['a GIF', image(`data:image/gif;base64,${gif}`), 'image_url.url', /PNG, JPEG/],
  ['a PDF as image', image(`data:image/png;base64,${pdf}`), 'image_url.url', /PNG, JPEG/],
  ['invalid base64', image('data:image/png;base64,a b'), 'image_url.url', /valid base64/],
  ['another scheme', image('ftp://example.com/a.png'), 'image_url.url', /http or https/],
  ['an invalid short form', { type: 'image_url', image_url: 'x' }, 'image_url', /http or https/],
  ['an uploaded file', { type: 'file', file: { file_id: 'file-1' } }, 'file.file_data', /uploaded/],
  ['a program', file('data:application/zip;base64,AAAA'), 'file.file_data', /application\/pdf/],
  ['another sound', audio('AAAA', 'flac'), 'input_audio.format', /"wav" or "mp3"/],
  ['invalid sound', audio('AAA'), 'input_audio.data', /base64/],
  ['an unknown part', { type: 'video_url', video_url: { url: 'x' } }, 'type', /"text", "image_url"/],
])('%s is a 400 that names the part', async (_, part, field, message) => {
  const failure = await rejectionOf(request(part))
  expect(failure).toMatchObject({ kind: 'bad_request', param: `${at}.${field}` })
  expect(failure.message).toMatch(message)
})

test('images by URL are fetched, and their bytes counted', async () => {
  const fetched: (readonly [string, string])[] = []
  const fetchImage: FetchImage = async (url, param) => {
    fetched.push([url, param])
    return { mediaType: 'image/webp', base64: 'AAAAAAAA' }
  }
  const { call } = await writtenFor(
    request(image('https://example.com/a'), { type: 'image_url', image_url: 'HTTP://example.com/b' }),
    { fetchImage },
  )
  const part = { inlineData: { mimeType: 'image/webp', data: 'AAAAAAAA' } }
  expect(call).toMatchObject({ json: { contents: [{ parts: [part, part] }] }, addedBytes: 16 })
  expect(fetched).toEqual([
    ['https://example.com/a', `${at}.image_url.url`],
    ['HTTP://example.com/b', 'messages[0].content[1].image_url'],
  ])
})

test('an image that cannot be fetched, or has a type that Gemini does not take, ends the call', async () => {
  const failure = failureOfRequest('x', 'cannot be fetched')
  const failing = { fetchImage: async () => failure }
  expect(await rejectionOf(request(image('https://example.com/a')), failing)).toBe(failure)
  const fetchGif = async () => ({ mediaType: 'image/gif', base64: gif })
  const rejection = await rejectionOf(request(image('https://example.com/a')), { fetchImage: fetchGif })
  expect(rejection).toMatchObject({ kind: 'bad_request', param: `${at}.image_url.url` })
})

test('nothing is fetched for a request that is rejected anyway', async () => {
  expect(await rejectionOf(request(image('https://example.com/a'), audio('?')))).toMatchObject({
    param: 'messages[0].content[1].input_audio.data',
  })
})
