import { expect, test } from 'vitest'
import { findPage } from './page-routes.ts'

test('an address belongs to one page, with its variable parts decoded', () => {
  expect(findPage('/')).toEqual({ path: '/', params: {} })
  expect(findPage('/app/')).toEqual({ path: '/app', params: {} })
  expect(findPage('/app/models/demo/echo')).toEqual({
    path: '/app/models/*',
    params: { '*': 'demo/echo' },
  })
  expect(findPage('/app/models/compare')?.path).toBe('/app/models/compare')
  expect(findPage('/app/keys/a%20b')).toEqual({ path: '/app/keys/:key_id', params: { key_id: 'a b' } })
  expect(findPage('/login/totp')?.path).toBe('/login/totp')
})

test('any other address has no page', () => {
  for (const pathname of [
    '/nowhere',
    '/app/keys/a/b',
    '/App',
    '//evil.example',
    '/legal//',
    '/app/models/%E0%A4%A',
  ])
    expect(findPage(pathname)).toBeUndefined()
})
