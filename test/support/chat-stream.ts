import type { Process } from './processes.ts'
import { post } from './stack.ts'

/** A streamed answer as its client reads it. */
export type ChatStream = {
  readonly requestId: string
  /** The part read so far. */
  readonly text: () => string
  /** `whole`: to its `[DONE]`. `told`: ended by an error in the stream. `cut`: the connection broke off. */
  readonly ended: Promise<'whole' | 'told' | 'cut'>
}

/** Asks for a stream and answers once its headers are there, with its first content. */
export async function openStream(gateway: Process, key: string, model: string): Promise<ChatStream> {
  const body = { model, messages: [{ role: 'user', content: 'Say hello' }], stream: true }
  const response = await post(gateway, key, body)
  if (response.status !== 200 || response.body === null)
    throw new Error(`no stream but ${response.status}: ${await response.text()}`)
  let text = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    try {
      for await (const bytes of stream) text += decoder.decode(bytes, { stream: true })
    } catch {
      return 'cut'
    }
    if (text.endsWith('data: [DONE]\n\n')) return 'whole'
    return text.includes('data: {"error":') ? 'told' : 'cut'
  }
  return {
    requestId: response.headers.get('x-gateway-request-id') ?? '',
    text: () => text,
    ended: read(response.body),
  }
}
