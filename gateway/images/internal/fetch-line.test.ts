import { expect, test } from 'vitest'
import { createFetchLine } from './fetch-line.ts'

const never = new AbortController().signal

/** Works that run until they are finished by name, and the names of those that run. */
function works() {
  const running = new Map<string, () => void>()
  return {
    work: (name: string) => () =>
      new Promise<string>((resolve) => {
        running.set(name, () => {
          running.delete(name)
          resolve(name)
        })
      }),
    finish: async (name: string) => {
      running.get(name)?.()
      await new Promise(setImmediate)
    },
    running: async () => {
      await new Promise(setImmediate)
      return [...running.keys()]
    },
  }
}

test('no more than allowed run at a time, and the others follow in order of arrival', async () => {
  const line = createFetchLine(2)
  const { work, finish, running } = works()
  const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => line.run('x', never, work(name))))
  expect(await running()).toEqual(['a', 'b'])
  await finish('b')
  expect(await running()).toEqual(['a', 'c'])
  for (const name of ['a', 'c', 'd']) await finish(name)
  expect(await all).toEqual(['a', 'b', 'c', 'd'])
})

test('an owner with as many as one may have makes only itself wait', async () => {
  const line = createFetchLine(3, 2)
  const { work, finish, running } = works()
  for (const name of ['x1', 'x2', 'x3']) void line.run('x', never, work(name))
  void line.run('y', never, work('y1'))
  expect(await running()).toEqual(['x1', 'x2', 'y1'])
  await finish('y1')
  expect(await running()).toEqual(['x1', 'x2'])
  await finish('x1')
  expect(await running()).toEqual(['x2', 'x3'])
})

test('one that is aborted while it waits never runs, and leaves its place to the next', async () => {
  const line = createFetchLine(1)
  const { work, finish, running } = works()
  const leaving = new AbortController()
  void line.run('x', never, work('a'))
  const left = line.run('x', leaving.signal, work('b'))
  void line.run('x', never, work('c'))
  leaving.abort()
  expect(await left).toBeUndefined()
  expect(await line.run('x', leaving.signal, work('d'))).toBeUndefined()
  await finish('a')
  expect(await running()).toEqual(['c'])
})

test('a work that fails leaves its place to the next', async () => {
  const line = createFetchLine(1)
  await expect(line.run('x', never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await line.run('x', never, () => Promise.resolve('next'))).toBe('next')
})
