import { expect, test } from 'vitest'
import { programmedBy } from '../../catalog/gateway-verdicts.ts'
import { createWaitingRoutes } from './waiting-routes.ts'

function gateways(...revisions: readonly bigint[]) {
  return revisions.map((revision, n) => ({ id: String(n), revision, unhealthy: {}, answering: [] }))
}

test('a route is checked again when another number of gateways serves it, and at no other change', () => {
  const waiting = createWaitingRoutes()
  const at = (revisions: readonly bigint[]) => {
    const replicas = gateways(...revisions)
    expect(waiting.note('mg/r', 7n, programmedBy(7n, replicas), replicas)).toBe(false)
  }
  at([5n, 5n])
  expect(waiting.turnedBy(gateways(6n, 6n))).toEqual([])
  expect(waiting.turnedBy(gateways(7n, 6n))).toEqual(['mg/r'])
  at([7n, 6n])
  expect(waiting.turnedBy(gateways(9n, 6n))).toEqual([])
  expect(waiting.turnedBy(gateways(9n, 8n))).toEqual(['mg/r'])
  at([9n, 8n])
  expect(waiting.turnedBy(gateways(9n, 6n))).toEqual([]) // it was served: no more waiting
})

test('gateways that came further while a route was looked at are not missed', () => {
  const waiting = createWaitingRoutes()
  expect(waiting.note('mg/r', 7n, programmedBy(7n, gateways(6n)), gateways(7n))).toBe(true)
})

test('a route that is gone or needs nothing waits for nothing', () => {
  const waiting = createWaitingRoutes()
  const verdict = programmedBy(7n, gateways(6n))
  waiting.note('mg/r', 7n, verdict, gateways(6n))
  waiting.forget('mg/r')
  expect(waiting.note('mg/s', null, verdict, gateways(6n))).toBe(false)
  expect(waiting.turnedBy(gateways(7n))).toEqual([])
})
