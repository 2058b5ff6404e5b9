import { expect, test } from 'vitest'
import { isTooDeep } from './json-text.ts'

test('a text is too deep from 201 lists or objects inside one another on, whatever its strings hold', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  expect(isTooDeep(nested(200))).toBe(false)
  expect(isTooDeep(nested(201))).toBe(true)
  expect(isTooDeep('{"a":'.repeat(201) + 1 + '}'.repeat(201))).toBe(true)
  expect(isTooDeep(`[${'[],'.repeat(500)}1]`)).toBe(false)
  expect(isTooDeep(JSON.stringify({ text: `"\\${'['.repeat(500)}` }))).toBe(false)
})
