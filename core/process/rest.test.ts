import { expect, test } from 'vitest'
import { createRestingWork } from './rest.ts'

function workThatTakes(ms: number) {
  let nowMs = 0
  const work = createRestingWork(0.2, () => nowMs)
  return {
    ask: () =>
      work(async () => {
        nowMs += ms
      }),
    pass: (passedMs: number) => {
      nowMs += passedMs
    },
  }
}

test('long work takes a fifth of the time, however often it is asked for', async () => {
  const { ask, pass } = workThatTakes(100)
  expect(await ask()).toBe('done')
  expect(await ask()).toBe('resting')
  pass(399)
  expect(await ask()).toBe('resting')
  pass(1)
  expect(await ask()).toBe('done')
})

test('short work needs no rest', async () => {
  const { ask } = workThatTakes(50)
  expect(await ask()).toBe('done')
  expect(await ask()).toBe('done')
})

test('work that fails after a long time rests as well, and reports why it failed', async () => {
  let nowMs = 0
  const work = createRestingWork(0.5, () => nowMs)
  const failing = work(async () => {
    nowMs += 100
    throw new Error('no database')
  })
  await expect(failing).rejects.toThrow('no database')
  expect(await work(async () => {})).toBe('resting')
})
