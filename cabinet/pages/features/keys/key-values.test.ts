import { expect, test } from 'vitest'
import {
  bodyOf,
  changesOf,
  checkValues,
  findTypedCount,
  keyErrorsOf,
  mergeValues,
  noValues,
} from './key-values.ts'
import { keyWords } from './messages.ts'

const nowMs = Date.parse('2026-11-22T22:00:00Z') // the 23rd in Moscow
const checked = (values: Partial<typeof noValues>) =>
  Object.keys(checkValues({ ...noValues, name: 'a', ...values }, keyWords.en, nowMs))

test('numbers are read in any typed or pasted form, and nothing else is a number', () => {
  expect(['1 000', '１０', '1\u00a0000', '2147483647'].map(findTypedCount)).toEqual([
    1000, 10, 1000, 2_147_483_647,
  ])
  for (const text of ['', '0', '-1', '1.5', '1e3', '2147483648', '99999999999', 'ten'])
    expect(findTypedCount(text)).toBeUndefined()
})

test('each field that the server would reject has its error', () => {
  expect(checked({})).toEqual([])
  expect(checked({ name: '' })).toEqual(['name'])
  expect(checked({ name: 'x'.repeat(253) })).toEqual([])
  expect(checked({ name: 'x'.repeat(254) })).toEqual(['name'])
  expect(checked({ daily_budget_rub: '999999999,99' })).toEqual([])
  expect(checked({ daily_budget_rub: '150,000' })).toEqual(['daily_budget_rub'])
  expect(checked({ daily_budget_rub: '1000000000' })).toEqual(['daily_budget_rub'])
  for (const budget of ['weekly_budget_rub', 'monthly_budget_rub', 'total_budget_rub']) {
    for (const wrong of ['0', '-5', '1000000000000', '1,2345'])
      expect(checked({ [budget]: wrong }), wrong).toEqual([budget])
    for (const right of ['', '0,01', '5000']) expect(checked({ [budget]: right }), right).toEqual([])
  }
  expect(checked({ tags: 'web, team-a;2026.q4  x_y' })).toEqual([])
  for (const tags of ['Web', '-a', 'x'.repeat(33), 'a\u0007', '1 2 3 4 5 6 7 8 9 10 11'])
    expect(checked({ tags }), tags).toEqual(['tags'])
  expect(bodyOf({ ...noValues, tags: ' web,a web' }).tags).toEqual(['a', 'web'])
  expect(checked({ allowed_ips: '203.0.113.7\n10.0.0.0/8, 2001:DB8::/32;::ffff:1.2.3.4' })).toEqual([])
  expect(checked({ allowed_ips: Array(101).fill('::1').join('\n') })).toEqual([])
  const many = Array.from({ length: 101 }, (_, n) => `10.0.0.${n}`).join('\n')
  for (const allowed_ips of ['x', '10.0.0.0/', '1.2.3.4/1234', 'fe80::1%eth0', many])
    expect(checked({ allowed_ips }), allowed_ips).toEqual(['allowed_ips'])
  expect(bodyOf({ ...noValues, allowed_ips: '::1\n\n 1.2.3.4' }).allowed_ips).toEqual(['::1', '1.2.3.4'])
  expect(bodyOf(noValues).allowed_ips).toBeNull()
  expect(checked({ rpm: '0', tpm: 'x' })).toEqual(['rpm', 'tpm'])
  expect(checked({ allowed_models: [] })).toEqual(['allowed_models'])
  for (const keeps_responses_hours of ['0', '721', '1.5'])
    expect(checked({ keeps_responses_hours })).toEqual(['keeps_responses_hours'])
  for (const keeps_responses_hours of ['', '1', '720']) expect(checked({ keeps_responses_hours })).toEqual([])
  expect(checked({ expires_at: '2026-11-22' })).toEqual(['expires_at'])
  expect(checked({ expires_at: '2026-11-23' })).toEqual([])
})

test('a budget whose point may separate thousands is rejected, and a stored one is kept', () => {
  for (const daily_budget_rub of ['150.000', '150,000', '0.005'])
    expect(checkValues({ ...noValues, name: 'a', daily_budget_rub }, keyWords.en, nowMs)).toEqual({
      daily_budget_rub: expect.stringContaining('without separators'),
    })
  const fine = { ...noValues, name: 'a', daily_budget_rub: '0.005' }
  expect(checkValues({ ...fine, name: 'b' }, keyWords.en, nowMs, fine)).toEqual({})
})

test('what only the server finds wrong in a list of addresses is named by its place, in the language of the page', () => {
  const errors = [
    { path: 'allowed_ips.1', code: 'custom', message: 'must be 10.0.0.0/8, or 10.0.0.1 for one address' },
    { path: 'allowed_ips.3', code: 'custom', message: 'x' },
    { path: 'name', code: 'custom', message: 'y' },
  ]
  const found = keyErrorsOf({ code: 'validation_failed', errors, facts: {} }, keyWords.ru)
  expect(found.allowed_ips).toMatch(/^Записи с ошибкой: 2, 4\./)
  expect(found.name).toBe('y')
  expect(keyErrorsOf({ code: 'internal', errors: [], facts: {} }, keyWords.ru)).toEqual({})
  const taken = { code: 'key_name_taken', errors: [], facts: { suggestion: 'ci 2' } } as const
  expect(keyErrorsOf(taken, keyWords.en).name).toContain('“ci 2”')
})

test('the last day of a key ends at midnight in Moscow', () => {
  expect(bodyOf({ ...noValues, expires_at: '2026-11-23' }).expires_at).toBe('2026-11-23T21:00:00.000Z')
})

test('only a different meaning is a change', () => {
  const origin = { ...noValues, name: 'a', rpm: '1000', daily_budget_rub: '0,5' }
  expect(changesOf(origin, { ...origin, rpm: '1 000', daily_budget_rub: '0.50' })).toEqual({})
  expect(changesOf(origin, { ...origin, rpm: '', allowed_models: ['x/*'] })).toEqual({
    rpm: null,
    allowed_models: ['x/*'],
  })
})

test('after a change by another user, typed fields stay and all others are updated', () => {
  const origin = { ...noValues, name: 'a', rpm: '10' }
  const typed = { ...origin, tpm: '５００' }
  const newest = { ...origin, name: 'b', rpm: '20' }
  expect(mergeValues(origin, typed, newest)).toEqual({ ...newest, tpm: '５００' })
})
