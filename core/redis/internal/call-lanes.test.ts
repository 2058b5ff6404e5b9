import { expect, test, vi } from 'vitest'
import type { Hearer, Lane, ScriptCall } from '../script-call.ts'
import { callsAtOnceMax, createCallLanes, laneWaitMsMax } from './call-lanes.ts'

const script: Lane['script'] = {
  label: 'admit',
  sent: 'unless_open',
  code: { kind: 'text', text: '', sha1: '', writes: 'yes' },
}
const lane = (of: string): Lane => ({ script, keys: ['epoch'], of, head: [0] })

class Answered extends Error {}

/** Lanes, the calls they have sent, and what those who asked have heard. */
function startLanes(gathers = false) {
  const sent: { readonly args: ScriptCall['args']; readonly hearer: Hearer }[] = []
  const heard: string[] = []
  const lanes = createCallLanes({
    send: ({ args }, hearer) => sent.push({ args: args.slice(1), hearer }),
    gathers: () => gathers,
    isAnswer: (error) => error instanceof Answered,
  })
  const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'no error')
  const ask = (name: string, of = 'one', isWanted = () => true) =>
    lanes.call(lane(of), [name], {
      isWanted,
      onReply: (reply) => heard.push(`${name}: ${reply}`),
      onError: (error) => heard.push(`${name} failed: ${messageOf(error)}`),
      onUnsent: (error) => heard.push(`${name} unsent: ${messageOf(error)}`),
    })
  return { ask, heard, sent, sentArgs: () => sent.map(({ args }) => args), endTurn: lanes.endTurn }
}

test('a call is sent at once; those asked while it is under way follow together, in order, and each has its reply', () => {
  const { ask, heard, sent, sentArgs } = startLanes()
  for (const name of ['a', 'b', 'c']) ask(name)
  expect(sentArgs()).toEqual([['a']])
  sent[0]?.hearer.onReply('first')
  expect(sentArgs()).toEqual([['a'], ['b', 'c']])
  sent[1]?.hearer.onReply(['second', 'third'])
  expect(heard).toEqual(['a: first', 'b: second', 'c: third'])
  ask('d')
  expect(sentArgs()).toEqual([['a'], ['b', 'c'], ['d']])
})

test('where writes leave at the end of a turn anyway, all that was asked in it is one call, and those that are full do not wait', () => {
  const { ask, sent, sentArgs, endTurn } = startLanes(true)
  for (let n = 0; n < callsAtOnceMax + 2; n++) ask(String(n))
  ask('other', 'another')
  expect(sentArgs().map(({ length }) => length)).toEqual([callsAtOnceMax])
  endTurn()
  expect(sentArgs().slice(1)).toEqual([['other']])
  sent[0]?.hearer.onReply([])
  expect(sentArgs().slice(2)).toEqual([['32', '33']])
  sent[2]?.hearer.onReply(['x', 'y'])
  ask('next')
  expect(sentArgs()).toHaveLength(3)
  endTurn()
  endTurn()
  expect(sentArgs().slice(3)).toEqual([['next']])
})

test('a call that is taken back before its turn ends leaves nothing behind', () => {
  const { ask, sentArgs, endTurn } = startLanes(true)
  ask('a').withdraw()
  endTurn()
  expect(sentArgs()).toEqual([])
  ask('b')
  endTurn()
  expect(sentArgs()).toEqual([['b']])
})

test('lanes do not wait for each other', () => {
  const { ask, sentArgs } = startLanes()
  ask('a')
  ask('b', 'another')
  expect(sentArgs()).toEqual([['a'], ['b']])
})

test('as many as one call takes do not wait, so no more than that ever do', () => {
  const { ask, sent, sentArgs } = startLanes()
  for (let n = 0; n < 3 * callsAtOnceMax; n++) ask(String(n))
  expect(sentArgs().map(({ length }) => length)).toEqual([1, callsAtOnceMax, callsAtOnceMax])
  sent[0]?.hearer.onReply('x')
  sent[2]?.hearer.onReply(Array.from({ length: callsAtOnceMax }, () => 'x'))
  expect(sent).toHaveLength(3)
  sent[1]?.hearer.onReply(Array.from({ length: callsAtOnceMax }, () => 'x'))
  expect(sentArgs().at(-1)).toHaveLength(callsAtOnceMax - 1)
})

test('an error of one does not concern the others of its call; a missing reply is an error', () => {
  const { ask, heard, sent } = startLanes()
  for (const name of ['a', 'b', 'c', 'd']) ask(name)
  sent[0]?.hearer.onReply('x')
  sent[1]?.hearer.onReply(['y', new Answered('bad')])
  expect(heard).toEqual([
    'a: x',
    'b: y',
    'c failed: bad',
    'd failed: a script did not reply to each of its calls',
  ])
})

test('an error that Redis answered is that of all in the call, and the lane goes on', () => {
  const { ask, heard, sent, sentArgs } = startLanes()
  for (const name of ['a', 'b']) ask(name)
  sent[0]?.hearer.onError(new Answered('OOM'))
  expect(heard).toEqual(['a failed: OOM'])
  expect(sentArgs()).toEqual([['a'], ['b']])
})

test('where the connection breaks, those that waited know that they were not sent', () => {
  const { ask, heard, sent, sentArgs } = startLanes()
  for (const name of ['a', 'b']) ask(name)
  sent[0]?.hearer.onError(new Error('closed'))
  expect(heard.toSorted()).toEqual(['a failed: closed', 'b unsent: closed'])
  ask('c')
  expect(sentArgs()).toEqual([['a'], ['c']])
})

test('a call that is taken back while it waits is not sent; one that was sent cannot be taken back', () => {
  const { ask, heard, sent, sentArgs } = startLanes()
  const [first, second] = ['a', 'b', 'c'].map((name) => ask(name))
  expect(first?.withdraw()).toBe(false)
  expect(second?.withdraw()).toBe(true)
  sent[0]?.hearer.onReply('x')
  expect(sentArgs()).toEqual([['a'], ['c']])
  sent[1]?.hearer.onReply('y')
  expect(heard).toEqual(['a: x', 'c: y'])
})

test('a call that is not wanted anymore when its turn comes is not sent, and the lane goes on', () => {
  const { ask, heard, sent, sentArgs } = startLanes()
  const gone = () => false
  ask('a', 'one', gone)
  expect(sentArgs()).toEqual([])
  ask('b')
  ask('c', 'one', gone)
  ask('d')
  ask('e', 'one', gone)
  sent[0]?.hearer.onReply('x')
  expect(sentArgs()).toEqual([['b'], ['d']])
  ask('f', 'one', gone)
  sent[1]?.hearer.onReply('y')
  expect(sentArgs()).toHaveLength(2)
  ask('g')
  expect(sentArgs().at(-1)).toEqual(['g'])
  expect(heard).toEqual(['b: x', 'd: y'])
})

test('what waits for an answer that does not come is sent after a fifth of the time that an answer has', () => {
  vi.useFakeTimers()
  try {
    const { ask, heard, sent, sentArgs } = startLanes()
    for (const name of ['a', 'b', 'c']) ask(name)
    vi.advanceTimersByTime(laneWaitMsMax - 1)
    expect(sentArgs()).toEqual([['a']])
    vi.advanceTimersByTime(1)
    expect(sentArgs()).toEqual([['a'], ['b', 'c']])
    ask('d')
    sent[0]?.hearer.onReply('x')
    sent[1]?.hearer.onReply(['y', 'z'])
    expect(sentArgs().slice(2)).toEqual([['d']])
    vi.advanceTimersByTime(laneWaitMsMax)
    expect(sentArgs()).toHaveLength(3)
    expect(heard).toEqual(['a: x', 'b: y', 'c: z'])
  } finally {
    vi.useRealTimers()
  }
})
