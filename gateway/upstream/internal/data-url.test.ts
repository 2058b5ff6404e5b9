import { expect, test } from 'vitest'
import { LongText, piecesOf, stringLengthMax } from '../../wire/long-text.ts'
import { parseDataUrl } from './data-url.ts'

test.each([
  ['data:image/png;base64,iVBORw==', 'image/png', 'iVBORw=='],
  ['DATA:Image/PNG;charset=utf-8;BASE64,AAA=', 'image/png', 'AAA='],
  ['data:application/pdf;name=a%20b.pdf;base64,AAAA', 'application/pdf', 'AAAA'],
  ['data:image/svg+xml;base64,+/+/', 'image/svg+xml', '+/+/'],
])('%s has its type and its data', (url, mediaType, base64) => {
  expect(parseDataUrl(url)).toEqual({ mediaType, base64 })
})

test.each([
  ['https://example.com/a.png'],
  ['data:image/png,iVBORw=='],
  ['data:;base64,AAAA'],
  ['data:base64,AAAA'],
  ['data:image/png;base64,'],
  ['data:image/png;base64,AAA'],
  ['data:image/png;base64,AA==AAAA'],
  ['data:image/png;base64,A==='],
  ['data:image/png;base64,AA=A'],
  ['data:image/png;base64,AA A'],
  ['data:image/png;base64,AA-_'],
  ['data:image/png;base64,=AAA'],
  ['data:image/png;base64,===='],
  ['data:image/png;base64,AAAA===='],
  ['data:image/png;base64,AA\nA'],
  [`data:image/png;${'a=b;'.repeat(300)}base64,AAAA`],
])('%s is no base64 data URL', (url) => {
  expect(parseDataUrl(url)).toBeUndefined()
})

test('the data of a long text stays in its pieces, cut anywhere', () => {
  const long = 'A'.repeat(stringLengthMax)
  const parsed = parseDataUrl(new LongText(['da', 'ta:image/png;base', `64,AA`, long, 'A', '=']))
  expect(parsed?.mediaType).toBe('image/png')
  expect(piecesOf(parsed?.base64 ?? '').at(-3)).toBe(long)
  expect(String(parsed?.base64)).toBe(`AA${long}A=`)
})

test.each([[['A', '=', '=', '=']], [['A=', 'A=']], [['AAA=', 'AAAA']], [['AAA', '?']]])(
  'padding and alphabet are checked across pieces: %s',
  (pieces) => {
    expect(parseDataUrl(new LongText(['data:image/png;base64,', ...pieces]))).toBeUndefined()
  },
)

test('twenty million characters take no more than their share of time', () => {
  const startedMs = performance.now()
  expect(parseDataUrl(`data:image/png;base64,${'A'.repeat(20_000_000)}`)).toBeDefined()
  expect(parseDataUrl(`data:image/png;${'a;'.repeat(10_000_000)}`)).toBeUndefined()
  expect(performance.now() - startedMs).toBeLessThan(2000)
})
