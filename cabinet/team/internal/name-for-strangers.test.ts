import { expect, test } from 'vitest'
import { nameForStrangers } from './name-for-strangers.ts'

test.each(['Ромашка', 'ООО «Ромашка и Ко.»', 'Acme 2.0', 'R&D, Moscow'])('%s is a name', (displayName) => {
  expect(nameForStrangers('org-1', displayName)).toBe(displayName)
})

test.each([
  'win.example',
  'https://win.example',
  'Приз: выигрыш.рф',
  '1.example',
  'write@win.example',
  'x'.repeat(61),
])('%s looks like a link or is long, so that an email to a stranger shows the slug', (displayName) => {
  expect(nameForStrangers('org-1', displayName)).toBe('org-1')
})

test('an organization without a display name is shown by its slug', () => {
  expect(nameForStrangers('org-1', null)).toBe('org-1')
})
