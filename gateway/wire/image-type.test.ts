import { expect, test } from 'vitest'
import { detectImageType } from './image-type.ts'

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF\0\x01'],
  ['image/gif', 'GIF87a\x01\0\x01\0\x80\0'],
  ['image/gif', 'GIF89a\x01\0\x01\0\x80\0'],
  ['image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['image/heic', '\0\0\0\x18ftypheic\0\0\0\0mif1'],
  ['image/heif', '\0\0\0\x18ftypmif1\0\0\0\0mif1'],
])('%s is detected from its first bytes', (type, head) => {
  expect(detectImageType(Buffer.from(head, 'latin1'))).toBe(type)
})

test.each([
  '',
  'GIF',
  '<!doctype html>',
  '<svg xmlns="http://www.w3.org/2000/svg">',
  '%PDF-1.7\n%\xe2\xe3',
  'RIFF\x24\0\0\0WAVEfmt ',
  '\0\0\0\x18ftypisom\0\0\0\0',
  '\0\0\0\x18ftypavif\0\0\0\0',
  'BM\x46\0\0\0\0\0\0\0\x36\0',
  ' \x89PNG\r\n\x1a\n\0\0\0',
])('%j begins no image that a provider takes', (head) => {
  expect(detectImageType(Buffer.from(head, 'latin1'))).toBeUndefined()
})
