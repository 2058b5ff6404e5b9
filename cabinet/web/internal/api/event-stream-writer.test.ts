import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EventReader } from '../../../api/endpoint.ts'
import { eventStream } from './event-stream-writer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A stream, a reader of its feed, and whether it has been left. */
function begin() {
  const left = vi.fn()
  let reader: EventReader | undefined
  const stream = eventStream((given) => {
    reader = given
    return left
  })
  if (reader === undefined) throw new Error('the feed was not asked')
  return { stream, reader, left }
}

test('a stream begins with its retry time, then has each event, and every 15 s a sign of life', () => {
  const { stream, reader } = begin()
  reader.send({ name: 'keys', data: { id: 'one\ntwo' } })
  expect(String(stream.read())).toBe('retry: 2000\n\nevent: keys\ndata: {"id":"one\\ntwo"}\n\n')
  vi.advanceTimersByTime(30_000)
  expect(String(stream.read())).toBe('event: alive\ndata: {}\n\n'.repeat(2))
  stream.destroy()
})

test('a client that does not read is disconnected, and the feed is left once', async () => {
  const { stream, reader, left } = begin()
  const event = { name: 'keys', data: { id: 'x'.repeat(1_000) } }
  for (let sent = 0; sent < 15; sent++) reader.send(event)
  expect(stream.destroyed).toBe(false)
  for (let sent = 0; sent < 5; sent++) reader.send(event)
  expect(stream.destroyed).toBe(true)
  await vi.waitFor(() => expect(left).toHaveBeenCalledOnce())
  reader.send(event)
  reader.end()
  expect(vi.getTimerCount()).toBe(0)
})

test('an end is passed on with all events before it, and a reader who does not take it has a second', async () => {
  const { stream, reader, left } = begin()
  reader.send({ name: 'ended', data: {} })
  reader.end()
  reader.send({ name: 'keys', data: {} })
  vi.advanceTimersByTime(999)
  expect(String(stream.read())).toBe('retry: 2000\n\nevent: ended\ndata: {}\n\n')
  const { stream: unread } = begin()
  unread.destroy()
  await vi.waitFor(() => expect(left).toHaveBeenCalledOnce())
  const stuck = begin()
  stuck.reader.end()
  vi.advanceTimersByTime(1_000)
  expect(stuck.stream.destroyed).toBe(true)
})
