import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { paths } from '../../bench/load.ts'
import { bodyIn, type Chat, type ClientApi } from './client-apis.ts'

/** A connection on loopback that survives whatever happens to it. */
export async function openConnection(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined)
  return socket
}

/** The head of a request, with these header lines as they are. */
export function headIn(api: ClientApi, ...lines: readonly string[]): string {
  const all = ['host: gateway', 'content-type: application/json', ...lines]
  return `POST ${paths[api]} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** A whole request with a key. */
export function requestIn(api: ClientApi, key: string, body: string): string {
  return headIn(api, `authorization: Bearer ${key}`, `content-length: ${Buffer.byteLength(body)}`) + body
}

/** Status of the next answer, without the interim ones of a client that has ended its side; 0 where the connection ends, or nothing comes in time. */
export async function readStatus(socket: Socket, timeoutMs = 5_000): Promise<number> {
  return await new Promise((resolve) => {
    const timer = setTimeout(() => settle(0), timeoutMs)
    const settle = (status: number) => {
      clearTimeout(timer)
      socket.off('data', read).off('close', ended).off('end', ended)
      resolve(status)
    }
    const read = (data: Buffer) => {
      const answer = data.toString('latin1').replaceAll('HTTP/1.1 102 Processing\r\n\r\n', '')
      if (answer !== '') settle(Number(answer.slice(9, 12)))
    }
    const ended = () => settle(0)
    socket.on('data', read).once('close', ended).once('end', ended)
    if (socket.destroyed) ended()
  })
}

/** Sends a request on its own connection. Returns the same as `readStatus`. */
export async function askStatus(
  port: number,
  send: (socket: Socket) => void,
  timeoutMs?: number,
): Promise<number> {
  const socket = await openConnection(port)
  const status = readStatus(socket, timeoutMs)
  send(socket)
  const answered = await status
  socket.destroy()
  return answered
}

/** A small request that a good provider answers. */
export function goodBodyIn(api: ClientApi): string {
  const messages = [{ role: 'user', content: 'Hi' }]
  return JSON.stringify(bodyIn(api, { model: 'abuse/good', max_tokens: 10, messages }))
}

export type Answer = { readonly status: number; readonly text: string }

type AskOptions = {
  /** Default: chat. */
  readonly api?: ClientApi
  readonly headers?: Readonly<Record<string, string>>
  readonly leaveAfterMs?: number
}

/** Sends one chat request in an API, as `ask` does. */
export async function chat(
  port: number,
  key: string,
  request: Chat,
  options: AskOptions = {},
): Promise<Answer> {
  return await ask(port, key, bodyIn(options.api ?? 'chat', request), options)
}

/**
 * Sends one request and reads the whole response; status 0 if the connection broke. Retries once after a second,
 * as instructed, if the gateway could not reach Redis, which happens on a busy machine.
 */
export async function ask(
  port: number,
  key: string,
  body: object,
  options: AskOptions = {},
): Promise<Answer> {
  const answer = await askOnce(port, key, body, options)
  if (answer.status !== 503 || !answer.text.includes('cannot check API keys')) return answer
  await pause(1_000)
  return await askOnce(port, key, body, options)
}

async function askOnce(
  port: number,
  key: string,
  body: object,
  { api = 'chat', headers, leaveAfterMs }: AskOptions,
): Promise<Answer> {
  let status = 0
  try {
    const response = await fetch(`http://127.0.0.1:${port}${paths[api]}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...(leaveAfterMs === undefined ? {} : { signal: AbortSignal.timeout(leaveAfterMs) }),
    })
    status = response.status
    return { status, text: await response.text() }
  } catch {
    return { status, text: '' }
  }
}

/**
 * Does something again and again in so many lanes, in each at most once in `everyMs`, until the time is up and it was done
 * `atLeast` so often; answers how often.
 */
export async function repeat(
  { forMs }: { readonly forMs: number },
  {
    lanes,
    everyMs,
    atLeast = 0,
  }: { readonly lanes: number; readonly everyMs: number; readonly atLeast?: number },
  work: () => Promise<unknown>,
): Promise<number> {
  const endsAtMs = performance.now() + forMs
  let [begun, count] = [0, 0]
  const lane = async () => {
    while (performance.now() < endsAtMs || begun < atLeast) {
      begun += 1
      const nextAtMs = performance.now() + everyMs
      await work()
      count += 1
      await pause(Math.max(0, nextAtMs - performance.now()))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return count
}

/** Counts what came, by its name. */
export function createTally(): {
  add(name: string | number): void
  clear(): void
  readonly counts: Record<string, number>
} {
  const counts: Record<string, number> = {}
  return {
    counts,
    add(name) {
      counts[name] = (counts[name] ?? 0) + 1
    },
    clear() {
      for (const name of Object.keys(counts)) delete counts[name]
    },
  }
}

/** A breach for each count that is not among those that may be. */
export function onlyThese(
  counts: Readonly<Record<string, number>>,
  allowed: readonly (string | number)[],
): readonly string[] {
  return Object.entries(counts)
    .filter(([name]) => !allowed.map(String).includes(name))
    .map(([name, count]) => `${count} times ${name}, where only ${allowed.join(', ')} may be`)
}
