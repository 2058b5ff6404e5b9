import { expect, test } from 'vitest'
import { imageUrlLengthMax } from '../image-problem.ts'
import { parseImageUrl } from './image-url.ts'

test.each(['http://a.example/b.png?c=d', 'HTTPS://A.example:8443/', 'https://[2606:4700::1111]/b'])(
  '%s is the URL of an image',
  (url) => {
    expect(parseImageUrl(url)).toBeInstanceOf(URL)
  },
)

test.each([
  'file:///etc/passwd',
  'ftp://a.example/b.png',
  'data:image/png;base64,AAAA',
  'gopher://a.example:6379/_FLUSHALL',
  'javascript:0',
  '//a.example/b.png',
  '/b.png',
  'http://',
  'http://a.example:99999/',
  'http://[::1%25lo]/',
  '',
  `https://a.example/${'b'.repeat(imageUrlLengthMax)}`,
])('%.40s is not', (url) => {
  expect(parseImageUrl(url)).toEqual({ outcome: 'failed', reason: 'url_invalid' })
})

test.each(['http://user:password@a.example/', 'https://user@a.example/', 'https://:password@a.example/'])(
  '%s has credentials, and is not fetched',
  (url) => {
    expect(parseImageUrl(url)).toEqual({ outcome: 'failed', reason: 'url_credentials' })
  },
)
