import { expect, test } from 'vitest'
import { searchFor } from './secret-search.ts'

const key = 'hunter2-canary-88'

function search(...secrets: readonly string[]) {
  return searchFor(secrets) ?? expect.fail('nothing to search for')
}

test('the credential is hidden wherever it is, also as its header has it; only its scheme is not', () => {
  const { hide } = search(`Api-Key ${key}`, key)
  expect(hide(`${key}, then Api-Key ${key}; Api-Key hunter2`)).toBe(
    '[hidden], then Api-Key [hidden]; Api-Key hunter2',
  )
})

test('a credential of less than eight characters is not looked for: an answer may say `none`', () => {
  expect(searchFor(['none', 'x', 'hunter2'])).toBeUndefined()
  expect(searchFor([])).toBeUndefined()
  expect(search('none', 'hunter22').hide('none hunter22')).toBe('none [hidden]')
})

test('a number beyond 2^53 keeps its digits', () => {
  const value = { said: key, number: JSON.rawJSON('12345678901234567890') }
  expect(search(key).write(value)).toBe('{"said":"[hidden]","number":12345678901234567890}')
})

test('where the last word of a credential is too short the whole of it is hidden', () => {
  expect(search('Api-Key short', 'short').hide('short of an Api-Key short')).toBe('short of an [hidden]')
})

test('JSON is written without it: in texts, names and JSON within a text, whatever was escaped', () => {
  const odd = 'a"b\\c/é\n1234'
  for (const secret of [key, odd]) {
    const { write } = search(secret)
    const said = { [secret]: [`<${secret}>`, 1, null, { arguments: JSON.stringify({ x: secret }) }] }
    expect(JSON.parse(write(said))).toEqual({
      '[hidden]': ['<[hidden]>', 1, null, { arguments: '{"x":"[hidden]"}' }],
    })
  }
})

test('JSON without it is written as always, even if it is spread over two texts', () => {
  const said = { one: 'hunter2', two: ['-canary-88'] }
  expect(search(key, 'e","two":').write(said)).toBe(JSON.stringify(said))
})

test('a text is clear unless it has the credential or ends with the beginning of it', () => {
  const { isClear } = search(key)
  const texts = [
    '',
    'Hello',
    'hunter2-canary-8 ',
    'H',
    'unter2',
    'h',
    'oh hunter',
    key,
    `${key} `,
    key.slice(0, -1),
  ]
  expect(texts.filter(isClear)).toEqual(['', 'Hello', 'hunter2-canary-8 ', 'H', 'unter2'])
})
