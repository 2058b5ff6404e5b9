import { expect, test } from 'vitest'
import { readSearchText } from './search-text.ts'

const id = '01936a4e-7c1b-7d3f-8a21-0123456789ab'

test('an id is found with the prefix of any API, and in capitals', () => {
  for (const prefix of ['chatcmpl-', 'resp_', 'msg_'])
    expect(readSearchText(` ${prefix}${id} `)).toEqual({ by: 'id', id, isRequest: true })
  expect(readSearchText(id.toUpperCase())).toEqual({ by: 'id', id, isRequest: false })
})

test('a key is found by its visible start and end, however they are joined', () => {
  const key = { by: 'key', prefix: 'sk-gateway-07Ab', suffix: 'wxyz' }
  for (const text of [
    'sk-gateway-07Ab…wxyz',
    'sk-gateway-07Ab...wxyz',
    'sk-gateway-07Ab … wxyz',
    'sk-gateway-07Ab wxyz',
  ])
    expect(readSearchText(text)).toEqual(key)
  expect(readSearchText('sk-gateway-07Ab')).toEqual({ ...key, suffix: '' })
})

test('of a whole secret only the visible parts are kept', () => {
  expect(readSearchText(`sk-gateway-07Ab${'s'.repeat(43)}wxyz`)).toEqual({
    by: 'key',
    prefix: 'sk-gateway-07Ab',
    suffix: 'wxyz',
  })
})

test('any other text is an address or a name', () => {
  expect(readSearchText(' Ann@Example.com')).toEqual({ by: 'email', email: 'ann@example.com' })
  expect(readSearchText('Ромашка')).toEqual({ by: 'name', name: 'Ромашка' })
})
