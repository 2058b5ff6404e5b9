import { expect, test } from 'vitest'
import { createCircuitBreaker, type OnCircuit } from './circuit-breaker.ts'

function breakerAt(clock: { ms: number }, onChange?: OnCircuit) {
  return createCircuitBreaker({
    timeoutsMax: 3,
    probeMs: 250,
    now: () => clock.ms,
    ...(onChange === undefined ? {} : { onChange }),
  })
}

test('listeners are called once when it opens, and once when it closes', () => {
  const heard: string[] = []
  const breaker = breakerAt({ ms: 0 }, (state) => heard.push(state))
  for (let outage = 0; outage < 2; outage++) {
    for (let call = 0; call < 9; call++) breaker.timedOut()
    for (let call = 0; call < 3; call++) breaker.answered()
  }
  expect(heard).toEqual(['open', 'closed', 'open', 'closed'])
})

test('an answer between two time-outs keeps the circuit closed', () => {
  const breaker = breakerAt({ ms: 0 })
  for (let call = 0; call < 10; call++) {
    breaker.timedOut()
    breaker.timedOut()
    breaker.answered()
  }
  expect(breaker.mayCall()).toBe(true)
})

test('an open circuit lets exactly one probe through each interval, and one answer closes it', () => {
  const clock = { ms: 1000 }
  const breaker = breakerAt(clock)
  for (let call = 0; call < 3; call++) breaker.timedOut()
  expect([breaker.mayCall(), breaker.isOpen()]).toEqual([false, true])

  clock.ms += 250
  expect([breaker.mayCall(), breaker.mayCall()]).toEqual([true, false])
  breaker.timedOut()
  clock.ms += 249
  expect(breaker.mayCall()).toBe(false)

  clock.ms += 1
  expect(breaker.mayCall()).toBe(true)
  breaker.answered()
  expect([breaker.mayCall(), breaker.mayCall(), breaker.isOpen()]).toEqual([true, true, false])
})
