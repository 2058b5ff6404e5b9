import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib'

/** What one call was answered, as far as it has passed. */
export type Answer = {
  readonly method: string
  readonly url: string
  readonly headers: readonly string[]
  readonly body: string
}

/** Between one browser and everything that it calls. */
export type HttpProxy = {
  readonly server: string
  /** From now on what these calls ask is sent so much later; 0: at once. */
  delay(isMeant: (url: URL) => boolean, ms: number): void
  /** Everything that this browser was answered so far, whichever page asked: streams too, but for files of the build. */
  answers(): readonly Answer[]
  /** From now on the answers to these calls do not arrive, those that are on their way included. */
  interrupt(isMeant: (url: URL) => boolean, how: Interruption): void
  /** Calls pass again from now on; those that were held stay so. */
  mend(): void
  stop(): void
}

/** `cut`: the connection breaks; `hold`: nothing more is ever heard; `lose`: it breaks once the server has answered. */
type Interruption = 'cut' | 'hold' | 'lose'

/**
 * Every browser has one, with a network address of its own: the cabinet's throttles count calls of an address, and the
 * whole run would be one.
 */
export async function startProxy(): Promise<HttpProxy> {
  const localAddress =
    process.platform === 'linux'
      ? ['127', randomInt(1, 255), randomInt(255), randomInt(1, 255)].join('.')
      : undefined
  const passed: (() => Answer)[] = []
  let interrupted: { isMeant(url: URL): boolean; readonly how: Interruption } | undefined
  const underWay = new Set<{ readonly url: URL; interrupt(how: Interruption): void }>()
  let delayed = { isMeant: (_url: URL) => false, ms: 0 }
  const pass = (asked: IncomingMessage, answer: ServerResponse) => {
    const url = new URL(asked.url ?? '')
    const forward = () => {
      const onward = request(
        {
          ...{ host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method: asked.method },
          headers: asked.headers,
          localAddress,
          agent: false,
        },
        (answered) => {
          if (interrupted?.isMeant(url)) return interrupted.how === 'hold' ? undefined : answer.destroy()
          if (!isBuilt(answered)) passed.push(keep(asked, answered))
          const one = {
            url,
            interrupt: (how: Interruption) =>
              void (how === 'hold' ? answered.unpipe(answer) : answer.destroy()),
          }
          underWay.add(one)
          answer.on('close', () => underWay.delete(one))
          answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders)
          answered.pipe(answer)
          answered.on('error', () => answer.destroy())
        },
      )
      onward.on('error', () => answer.destroy())
      answer.on('close', () => onward.destroy())
      asked.pipe(onward)
    }
    if (interrupted?.isMeant(url) && interrupted.how === 'cut') answer.destroy()
    else if (delayed.isMeant(url)) setTimeout(forward, delayed.ms)
    else forward()
  }
  const server = createServer(pass).listen(0, '127.0.0.1')
  // What a test asks itself, in the name of its browser.
  server.on('connect', ({ url = '' }, client: Socket) => {
    const onward = connect({
      host: '127.0.0.1',
      port: Number(url.split(':').at(-1)),
      ...(localAddress && { localAddress }),
    })
    onward.once('connect', () => client.write('HTTP/1.1 200 Connected\r\n\r\n'))
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const)
      from
        .pipe(to)
        .on('error', () => undefined)
        .once('close', () => from.destroy())
  })
  await once(server, 'listening')
  return {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delay(isMeant, ms) {
      delayed = { isMeant, ms }
    },
    answers: () => passed.map((read) => read()),
    interrupt(isMeant, how) {
      interrupted = { isMeant, how }
      for (const one of underWay) if (isMeant(one.url)) one.interrupt(how)
    },
    mend() {
      interrupted = undefined
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A file that was there before the run, of which a visit that measures loads hundreds. */
function isBuilt({ headers }: IncomingMessage): boolean {
  return headers['cache-control']?.includes('immutable') === true
}

/** Listens to what passes; it is unpacked when it is asked for. */
function keep({ method = '', url = '' }: IncomingMessage, answered: IncomingMessage): () => Answer {
  const chunks: Buffer[] = []
  answered.on('data', (chunk: Buffer) => chunks.push(chunk))
  const { rawHeaders, headers } = answered
  return () => {
    const body = unpacked(Buffer.concat(chunks), headers['content-encoding'])
    return { method, url, headers: rawHeaders, body: body.toString() }
  }
}

/** What was sent of it: a browser that leaves a page lets go of what it was reading. */
function unpacked(sent: Buffer, encoding: string | undefined): Buffer {
  if (sent.length === 0) return sent
  if (encoding === 'br') return brotliDecompressSync(sent, { finishFlush: constants.BROTLI_OPERATION_FLUSH })
  return encoding === 'gzip' ? gunzipSync(sent, { finishFlush: constants.Z_SYNC_FLUSH }) : sent
}
