import { expect, test } from 'vitest'
import { type Attempt, BoundedWrites, type Write } from './bounded-writes.ts'

/** Writes by a clock that the test moves, and a write that ends as the test decides. */
function open(
  limits: { readonly bytesMax?: number; readonly atOnceMax?: number; readonly waitMs?: number } = {},
) {
  let nowMs = 0
  const writes = new BoundedWrites({ bytesMax: 10, atOnceMax: 2, waitMs: 5_000, ...limits }, () => nowMs)
  function passTime(ms: number): void {
    nowMs += ms
  }
  return { writes, passTime }
}

function writeOf(...ends: readonly Attempt[]) {
  let attempts = 0
  let undone = 0
  function undo(): void {
    undone += 1
  }
  const write: Write = {
    bytes: 4,
    attempt: () => Promise.resolve(ends[Math.min(attempts++, ends.length - 1)] ?? 'failed'),
    undo,
  }
  return { ...write, made: () => ({ attempts, undone }) }
}

/** A write that ends when it is let go. */
function heldWrite() {
  const ended = Promise.withResolvers<Attempt>()
  let undone = 0
  function undo(): void {
    undone += 1
  }
  const write: Write = { bytes: 4, attempt: () => ended.promise, undo }
  return { ...write, end: ended.resolve, undone: () => undone }
}

test('a write that fails is tried again, and a rejected one is not', async () => {
  const { writes } = open()
  const once = writeOf('failed', 'stored')
  expect(await writes.write(once)).toBe('stored')
  expect(once.made()).toEqual({ attempts: 2, undone: 0 })
  const rejected = writeOf('rejected')
  expect(await writes.write(rejected)).toBe('rejected')
  expect(rejected.made()).toEqual({ attempts: 1, undone: 0 })
  expect(writes.bytes).toBe(0)
})

test('writes that would take too much memory are not made', async () => {
  const { writes } = open()
  const held = [heldWrite(), heldWrite()]
  const running = held.map((write) => writes.write(write))
  const more = writeOf('stored')
  expect(await writes.write(more)).toBe('busy')
  expect(more.made().attempts).toBe(0)
  for (const write of held) write.end('stored')
  expect(await Promise.all(running)).toEqual(['stored', 'stored'])
  expect(await writes.write(more)).toBe('stored')
})

test('no more than so many are made at once, and the others follow', async () => {
  const { writes } = open({ bytesMax: 100, atOnceMax: 1 })
  const [first, second] = [heldWrite(), writeOf('stored')]
  const running = [writes.write(first), writes.write(second)]
  await Promise.resolve()
  expect(second.made().attempts).toBe(0)
  first.end('stored')
  expect(await Promise.all(running)).toEqual(['stored', 'stored'])
})

test('after a failure writes end at once, until one finds out that all is well', async () => {
  const { writes, passTime } = open()
  const failing = writeOf('failed')
  expect(await writes.write(failing)).toBe('unavailable')
  expect(failing.made(), 'it may have been written').toEqual({ attempts: 3, undone: 1 })
  const next = writeOf('stored')
  expect(await writes.write(next)).toBe('unavailable')
  passTime(1_000)
  const probe = heldWrite()
  const probing = writes.write(probe)
  expect(await writes.write(next), 'only one finds out').toBe('unavailable')
  expect(next.made().attempts).toBe(0)
  probe.end('stored')
  expect(await probing).toBe('stored')
  expect(await writes.write(next)).toBe('stored')
})

test('a client waits so long only, and what is written after that is undone', async () => {
  const { writes } = open({ waitMs: 1 })
  const slow = heldWrite()
  expect(await writes.write(slow)).toBe('late')
  expect(writes.bytes).toBe(4)
  slow.end('stored')
  await expect.poll(slow.undone).toBe(1)
  expect(writes.bytes).toBe(0)
})
