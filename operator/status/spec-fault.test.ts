import { expect, test } from 'vitest'
import { z } from 'zod'
import { faultOf } from './spec-fault.ts'

const schema = z.object({ spec: z.array(z.string('must be a text')) })

function faultOfTexts(...spec: readonly unknown[]): string {
  const { error } = schema.safeParse({ spec })
  if (error === undefined) throw new Error('nothing is wrong')
  return faultOf(error)
}

test('every fault up to five is named with its field, and how many more there are, and never a value', () => {
  expect(faultOfTexts('fine', 4711)).toBe('spec.1: must be a text')
  expect(faultOfTexts(1, 2, 3, 4, 5).split('; ').length).toBe(5)
  expect(faultOfTexts(1, 2, 3, 4, 5)).not.toContain('more')
  expect(faultOfTexts(1, 2, 3, 4, 5, 6)).toMatch(/^(spec\.[0-4]: must be a text; ){5}and 1 more$/)
})
