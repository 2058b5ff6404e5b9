import { expect, test } from 'vitest'
import { dataOfEvents } from './event-stream-reader.ts'

test('events are the same wherever the network splits them', async () => {
  const text =
    ': waiting\n\ndata: {"a":"Привет, 世界 👋"}\n\ndata: one\ndata: two\r\n\r\ndata: [DONE]\n\ndata: late\n\n'
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size += 1)
    expect(await all(dataOfEvents(inPieces(bytes, size)))).toEqual(['{"a":"Привет, 世界 👋"}', 'one\ntwo'])
})

async function all(events: AsyncGenerator<string>): Promise<readonly string[]> {
  const data: string[] = []
  for await (const event of events) data.push(event)
  return data
}

function inPieces(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      controller.close()
    },
  })
}
