/** No event of the gateway is longer; a longer one is cut off. */
const eventLengthMax = 16 * 1024 * 1024

/** The data of each server-sent event of a body as it arrives; `[DONE]` ends it. Comments are ignored. */
export async function* dataOfEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of textOf(body)) {
    const events = (rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    rest = events.pop() ?? ''
    if (rest.length > eventLengthMax) return
    for (const event of events) {
      const data = dataOf(event)
      if (data === '[DONE]') return
      if (data !== undefined) yield data
    }
  }
}

/** Uses a reader: not every browser can iterate over a stream. Stopping early closes the connection. */
async function* textOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function dataOf(event: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')
}
