import { expect, test } from 'vitest'
import type { ContentStep, Signed } from '../content-step.ts'
import { type OrderedStep, StepOrder } from './step-order.ts'

const call = (index: number): ContentStep => ({
  kind: 'call',
  call: { index, id: `c${index}`, type: 'function', name: 'f', signed: undefined },
})
const part = (index: number, text: string, signed?: Signed): ContentStep => ({
  kind: 'call_part',
  part: { index, type: 'function', text, signed },
})
const signed: Signed = { extra_content: { signature: 's' } }

/** What passes, in order: starts of calls and their texts, and signatures. */
function passedOf(steps: readonly ContentStep[]): readonly string[] {
  const passed: string[] = []
  const order: StepOrder = new StepOrder('f0', note)
  function note(step: OrderedStep): void {
    if (step.kind === 'call') passed.push(step.call.id)
    else if (step.kind !== 'call_part') passed.push(step.kind)
    else if (step.part.signed === undefined) passed.push(step.part.text)
    else passed.push(`${order.callIdOf(step.part.index)} signed`)
  }
  for (const step of steps) order.take(step)
  return passed
}

test('a call that comes while another one is incomplete waits for its end', () => {
  const steps = [call(0), part(0, '{'), call(1), part(1, '{}'), part(0, '}')]
  expect(passedOf(steps)).toEqual(['c0', '{', '}', 'c1', '{}'])
})

test('what waits passes when the choice ends', () => {
  const steps: readonly ContentStep[] = [
    call(0),
    part(0, '{'),
    call(1),
    { kind: 'finish', reason: 'tool_calls' },
  ]
  expect(passedOf(steps)).toEqual(['c0', '{', 'c1', 'finish'])
})

test('a signature does not wait, and belongs to a call that waits or is over', () => {
  const waiting = [call(0), part(0, '{'), call(1), part(1, '', signed)]
  expect(passedOf(waiting)).toEqual(['c0', '{', 'c1 signed'])
  const over = [call(0), part(0, '{}'), call(1), part(0, '', signed)]
  expect(passedOf(over)).toEqual(['c0', '{}', 'c1', 'c0 signed'])
})

test('white space behind a whole call that is over is nothing', () => {
  expect(passedOf([call(0), part(0, '{}'), call(1), part(0, ' ')])).toEqual(['c0', '{}', 'c1'])
})
