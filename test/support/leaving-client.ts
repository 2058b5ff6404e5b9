import { expect, vi } from 'vitest'
import type { Process } from './processes.ts'

/** A request whose client may leave at any moment. */
export type LeavingClient = {
  /** Status, once there is one; 0 while there is none. */
  readonly status: () => number
  /** Those of the response, once there is one; none while there is none. */
  readonly headers: () => Headers
  /** The part read so far. */
  readonly text: () => string
  /** Resolves once `part` was read. */
  untilRead(part: string): Promise<void>
  /** Closes the connection. */
  leave(): void
  /** `whole`: the answer was read to its last byte. `cut`: the connection broke off, or the client left. */
  readonly ended: Promise<'whole' | 'cut'>
}

/** Sends a chat request, or one to another path, and reads the answer as it comes. */
export function startChat(
  gateway: Process,
  key: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
  path = '/chat/completions',
): LeavingClient {
  const leaving = new AbortController()
  let status = 0
  let received = new Headers()
  let text = ''
  async function read(): Promise<'whole' | 'cut'> {
    try {
      const response = await fetch(`${gateway.baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: leaving.signal,
      })
      status = response.status
      received = response.headers
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
      return 'whole'
    } catch {
      return 'cut'
    }
  }
  return {
    status: () => status,
    headers: () => received,
    text: () => text,
    untilRead: (part) => vi.waitFor(() => expect(text).toContain(part), { timeout: 10_000, interval: 5 }),
    leave: () => leaving.abort(),
    ended: read(),
  }
}
