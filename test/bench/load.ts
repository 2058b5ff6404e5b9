import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'

/** Where a load goes: one of the proxies that are compared. */
export type Target = {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The paths of the APIs that clients speak. */
export const paths = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
} as const

/** Latencies in ms, one per request, in order of their ends. */
export type Latencies = readonly number[]

/** Of an answer that is not streamed. */
const plainTokensMax = 200
/** More than any stream has: one that went on beyond its limit would be cut, and by each API elsewhere. */
const streamTokensMax = 4000

/** A request of 1 KB. */
export function bodyOf(model: string, mode: 'plain' | 'stream', path: string = paths.chat): string {
  const words = [{ role: 'user', content: 'x'.repeat(900) }]
  const most = mode === 'stream' ? streamTokensMax : plainTokensMax
  const asked =
    path === paths.responses
      ? { input: words, max_output_tokens: most }
      : { messages: words, max_tokens: most }
  return JSON.stringify({ model, ...asked, ...(mode === 'stream' ? { stream: true } : {}) })
}

/**
 * Sends `count` requests over `connections` connections, each the next one after the last one's end; fewer where it is over before.
 *
 * A gateway whose Redis gets no processor answers 503; such answers are counted, and are no latencies.
 */
export async function loadPlain(
  target: Target,
  body: string,
  {
    count,
    connections,
    isOver = () => false,
  }: { readonly count: number; readonly connections: number; readonly isOver?: () => boolean },
): Promise<{ readonly latencies: Latencies; readonly refused: number; readonly seconds: number }> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 })
  const latencies: number[] = []
  const startedAtMs = performance.now()
  let left = count
  let refused = 0
  const worker = async () => {
    while (left-- > 0 && !isOver()) {
      const sentAtMs = performance.now()
      const status = await ask(pool, target, body)
      if (status === 200) latencies.push(performance.now() - sentAtMs)
      else refused += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAtMs) / 1000
  await pool.close()
  if (refused > count / 10) throw new Error(`${refused} of ${count} requests were refused`)
  return { latencies, refused, seconds }
}

/** Requests that one target is asked before the next one has its turn: some 20 ms, so that none of them grows cold. */
const turnLength = 50

/**
 * Sends each target `count` requests over one connection, one after the other and 50 by turns: whatever the machine does
 * from second to second, it does to all of them. Answers the latencies of each.
 */
export async function loadInTurns(
  targets: readonly (Target & { readonly body: string })[],
  count: number,
): Promise<readonly Latencies[]> {
  const asked = targets.map((target) => ({
    target,
    pool: new Pool(target.origin, { connections: 1, pipelining: 1 }),
    latencies: [] as number[],
  }))
  for (let sent = 0; sent < count; sent += turnLength)
    for (const { target, pool, latencies } of asked)
      for (let n = 0; n < turnLength; n++) {
        const sentAtMs = performance.now()
        const status = await ask(pool, target, target.body)
        if (status === 200) latencies.push(performance.now() - sentAtMs)
      }
  for (const { target, pool, latencies } of asked) {
    await pool.close()
    if (latencies.length < 0.9 * count) throw new Error(`${target.origin} refused more than a tenth`)
  }
  return asked.map(({ latencies }) => latencies)
}

/**
 * Opens `count` streams, one each `everyMs`, reads them to their ends, and returns the time to each one's
 * first byte. One that is answered 503, since Redis gets no processor, is opened again; one in ten may break off.
 *
 * Reads bare sockets into one buffer. A client that parses 10,000 chunks a second delays the other streams
 * and measures itself.
 */
export async function loadStreams(
  target: Target,
  body: string,
  { count, everyMs }: { readonly count: number; readonly everyMs: number },
): Promise<Latencies> {
  const startedAtMs = performance.now()
  let broken = 0
  const streams = await Promise.all(
    Array.from({ length: count }, async (_, position) => {
      const atMs = startedAtMs + (position + Math.random()) * everyMs // a whole number would open them in step
      if (everyMs > 0) await pause(Math.max(atMs - performance.now(), 1))
      for (let refused = 0; ; refused++) {
        const read = await readStream(target, body)
        if (read?.isWhole === false) broken += 1
        if (read !== undefined) return read.firstByteMs
        if (refused === refusedMax) throw new Error(`${target.origin} refused a stream ${refused} times`)
        await pause(retryMs)
      }
    }),
  )
  if (broken > count / 10) throw new Error(`${broken} of ${count} streams broke off`)
  return streams
}

const refusedMax = 20
const retryMs = 500
const readBytes = Buffer.alloc(64 * 1024)
/** The last bytes of a stream: its last event, and the end of its chunks. */
const endOf = (path: string) =>
  `data: ${path === paths.messages ? '{"type":"message_stop"}' : '[DONE]'}\n\n\r\n0\r\n\r\n`

/** Time from the request to the first byte of the body, on a separate connection; `undefined`: it was answered 503. */
function readStream(
  target: Target,
  body: string,
): Promise<{ readonly firstByteMs: number; readonly isWhole: boolean } | undefined> {
  const { hostname, port } = new URL(target.origin)
  const request = requestText(target, body)
  const endOfStream = endOf(target.path)
  return new Promise((resolve, reject) => {
    let sentAtMs = 0
    let firstAtMs: number | undefined
    let beginning = ''
    let tail = ''
    const isRefused = () => beginning.startsWith('HTTP/1.1 503 ')
    const read = (length: number): boolean => {
      if (firstAtMs === undefined) {
        beginning += readBytes.toString('latin1', 0, length)
        const bodyAt = beginning.indexOf('\r\n\r\n') + 4
        if (bodyAt > 4 && beginning.length > bodyAt) firstAtMs = performance.now()
      }
      tail = (tail + readBytes.toString('latin1', Math.max(0, length - endOfStream.length), length)).slice(
        -endOfStream.length,
      )
      if (tail === endOfStream || isRefused()) socket.destroy()
      return true
    }
    const socket = connect({
      host: hostname,
      port: Number(port),
      onread: { buffer: readBytes, callback: read },
    })
    socket.setNoDelay(true)
    socket.once('connect', () => {
      sentAtMs = performance.now()
      socket.write(request)
    })
    socket.once('error', reject)
    socket.once('close', () => {
      if (isRefused()) resolve(undefined)
      else if (firstAtMs !== undefined && beginning.startsWith('HTTP/1.1 200 '))
        resolve({ firstByteMs: firstAtMs - sentAtMs, isWhole: tail === endOfStream })
      else reject(new Error(`a stream began with ${beginning} and ended with ${tail}`))
    })
  })
}

/** Begins one stream, and closes its connection when the first chunk has come. */
export async function leaveStream(target: Target, body: string): Promise<void> {
  const { hostname, port } = new URL(target.origin)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(requestText(target, body))
  let text = ''
  for await (const bytes of socket) {
    text += bytes
    if (text.includes('data: ')) break // closes the connection
  }
  if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`a stream began with ${text}`)
}

function requestText({ origin, path, headers }: Target, body: string): string {
  const head = Object.entries({ ...headers, host: new URL(origin).host, 'content-length': body.length })
  return `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

/**
 * Sends one request, reads its response and returns its status, at the lowest possible cost: the load
 * generator shares the processors.
 */
function ask(pool: Pool, { path, headers }: Target, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0
    pool.dispatch(
      { path, method: 'POST', headers: { ...headers }, body },
      {
        onRequestStart() {},
        onResponseStart(_, statusCode) {
          status = statusCode
        },
        onResponseData() {},
        onResponseEnd: () => resolve(status),
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

/** The `share` quantile, 0…1, of the measurements. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
