import { describe, expect, test } from 'vitest'
import { failureOfDeadline, failureOfFault, failureOfStatus } from '../../upstream/failure.ts'
import { startOf, verdictOf } from './verdict.ts'

const timeouts = { requestMs: 600_000, firstByteMs: 60_000 }
const failedWith = (failure: ReturnType<typeof failureOfFault>) => ({ kind: 'failed', failure }) as const
const status = (code: number, headers = {}, body = '') =>
  failedWith(failureOfStatus({ status: code, headers, body, nowMs: 0 }))

describe('what an attempt shows of its backend', () => {
  test('a refused connection, a 5xx and a rejected credential are failures', () => {
    for (const [served, trouble] of [
      [failedWith(failureOfFault('connect_refused')), 'unreachable'],
      [failedWith(failureOfFault('address_refused')), 'unreachable'],
      [status(500), 'failed'],
      [status(401), 'unauthorized'],
      [status(400, {}, '{"error":{"code":"Arrearage"}}'), 'unauthorized'],
      [status(404), 'misrouted'],
    ] as const)
      expect(verdictOf(served, 1, timeouts)).toEqual({ failed: { retryAfterMs: null, trouble } })
  })

  test('the wait that it asks for is passed on', () => {
    expect(verdictOf(status(429, { 'retry-after': '3' }), 1, timeouts)).toEqual({
      failed: { retryAfterMs: 3_000, trouble: 'overloaded' },
    })
  })

  test("a request beyond the limit of our account proves nothing: its size is the caller's", () => {
    const body = '{"error":{"code":"rate_limit_exceeded"}}'
    expect(verdictOf(status(413, { 'retry-after': '3' }, body), 1, timeouts)).toBe('unknown')
  })

  test('a request rejected as invalid was answered by a healthy backend', () => {
    expect(verdictOf(status(400), 1, timeouts)).toBe('good')
  })

  test('a deadline of the caller proves nothing: callers cannot make a backend look unhealthy with it', () => {
    const silent = failedWith(failureOfFault('first_byte_timeout'))
    const away = failedWith(failureOfFault('connect_timeout'))
    expect(verdictOf(silent, 59_000, timeouts)).toBe('unknown')
    expect(verdictOf(silent, 60_000, timeouts)).toMatchObject({ failed: { trouble: 'timeout' } })
    expect(verdictOf(away, 900, timeouts)).toBe('unknown')
    expect(verdictOf(away, 1_100, timeouts)).toMatchObject({ failed: { trouble: 'unreachable' } })
  })

  test('a stream that was cut at the deadline of its request proves nothing; cut by its provider, it failed', () => {
    const usage = { kind: 'missing' } as const
    const cut = { kind: 'streamed', ending: 'upstream_cut', heldUpMs: 0, usage, writeEnd: () => '' } as const
    expect(verdictOf({ ...cut, cutBy: failureOfDeadline }, 400, timeouts)).toBe('unknown')
    expect(verdictOf(failedWith(failureOfDeadline), 400, timeouts)).toBe('unknown')
    for (const ending of ['upstream_cut', 'client_gone'] as const)
      expect(
        verdictOf({ ...cut, ending, cutBy: failureOfFault('idle_timeout') }, 400, timeouts),
      ).toMatchObject({
        failed: { trouble: 'cut' },
      })
  })

  test('a stream that its provider cut when the client had long not read proves nothing', () => {
    const usage = { kind: 'missing' } as const
    const cut = { kind: 'streamed', ending: 'upstream_cut', usage, writeEnd: () => '' } as const
    const cutBy = failureOfFault('cut')
    expect(verdictOf({ ...cut, cutBy, heldUpMs: 1_100 }, 5_000, timeouts)).toBe('unknown')
    expect(verdictOf({ ...cut, cutBy, heldUpMs: 900 }, 5_000, timeouts)).toMatchObject({
      failed: { trouble: 'cut' },
    })
  })

  test('an answer that nearly timed out began late', () => {
    expect(startOf(29_000, timeouts)).toBe('in_time')
    expect(startOf(31_000, timeouts)).toBe('late')
  })
})
