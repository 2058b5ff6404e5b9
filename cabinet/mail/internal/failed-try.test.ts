import { expect, test } from 'vitest'
import { isServerAway, judgeFailedTry } from './failed-try.ts'

const dayMs = 86_400_000
const first = { attempts: 1, ageMs: 0, random: 0.5 }
const refused = {
  code: 'EENVELOPE',
  command: 'RCPT TO',
  responseCode: 550,
  message: '550 <a@example.com> unknown',
}

test('a recipient who is refused for good is given up at once; what is refused for now is tried again', () => {
  expect(judgeFailedTry(refused, first)).toEqual({ why: 'EENVELOPE 550 RCPT TO', pauseMs: undefined })
  expect(judgeFailedTry({ ...refused, responseCode: 451 }, first).pauseMs).toBe(5_000)
})

test.each([
  { code: 'EAUTH', command: 'AUTH PLAIN', responseCode: 535 },
  { code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 550 },
  { code: 'EMESSAGE', command: 'DATA', responseCode: 554 },
  { code: 'ECONNECTION', command: 'CONN' },
  new Error('whatever'),
])('what a changed setting may mend is tried again: %o', (error) => {
  expect(judgeFailedTry(error, first).pauseMs).toBe(5_000)
})

test('pauses double up to an hour, differ by a quarter either way, and end after three days', () => {
  const pauseOf = (fields: Partial<typeof first>) =>
    judgeFailedTry(new Error('x'), { ...first, ...fields }).pauseMs
  expect([1, 2, 3, 4].map((attempts) => pauseOf({ attempts }))).toEqual([5_000, 10_000, 20_000, 40_000])
  expect(pauseOf({ attempts: 1_000 })).toBe(3_600_000)
  expect([pauseOf({ random: 0 }), pauseOf({ random: 1 })]).toEqual([3_750, 6_250])
  expect(pauseOf({ attempts: 50, ageMs: 2.9 * dayMs })).toBe(3_600_000)
  expect(pauseOf({ attempts: 50, ageMs: 2.99 * dayMs })).toBeUndefined()
})

test('only errors of a connection or a login count against the mail server', () => {
  expect([{ code: 'ECONNECTION' }, { code: 'EAUTH' }, { code: 'EABORT' }, refused].map(isServerAway)).toEqual(
    [true, true, true, false],
  )
})
