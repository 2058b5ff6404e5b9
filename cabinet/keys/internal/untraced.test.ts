import { expect, test } from 'vitest'
import { isRequestId, whyUntraced } from './untraced.ts'

const nowMs = Date.parse('2026-11-26T12:00:00Z')
const minuteMs = 60_000
const idAt = (atMs: number) => {
  const time = atMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7abc-8abc-0123456789ab`
}

test.each([
  ['request_not_settled', idAt(nowMs)],
  ['request_not_settled', idAt(nowMs + minuteMs)],
  ['request_not_settled', idAt(nowMs - 69 * minuteMs)],
  ['request_untraced', idAt(nowMs - 70 * minuteMs)],
  ['request_untraced', idAt(nowMs - 7 * 24 * 60 * minuteMs + 1)],
  ['request_too_old', idAt(nowMs - 7 * 24 * 60 * minuteMs)],
  ['not_found', idAt(nowMs + 2 * minuteMs)],
  ['not_found', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  ['not_found', 'gen-123'],
  ['not_found', ''],
])('%s is why there is nothing of %s', (code, id) => {
  expect(whyUntraced(id, nowMs)).toEqual({ problem: { code } })
  expect(isRequestId(id, nowMs)).toBe(code !== 'not_found')
})
