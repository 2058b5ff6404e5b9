import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib'

/** The response to one call, as far as it has passed. */
export type Answer = {
  readonly method: string
  readonly url: string
  readonly headers: readonly string[]
  readonly body: string
}

/** Between one browser and all its servers. */
export type HttpProxy = {
  readonly server: string
  /** Delays these calls from now on; 0: no delay. */
  delay(isMeant: (url: URL) => boolean, ms: number): void
  /** All responses that this browser has received, for every page: streams too, but not files of the build. */
  answers(): readonly Answer[]
  /** Drops the responses to these calls from now on, including those in transit. */
  interrupt(isMeant: (url: URL) => boolean, how: Interruption): void
  /** Lets calls pass again; calls on hold stay on hold. */
  mend(): void
  stop(): void
}

/** `cut`: the connection breaks; `hold`: nothing more arrives; `lose`: it breaks after the server has responded. */
type Interruption = 'cut' | 'hold' | 'lose'

/**
 * Every browser has one, with its own network address: the cabinet's rate limits count calls per address, and otherwise
 * the whole run would share one.
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
          host: '127.0.0.1',
          port: url.port,
          path: url.pathname + url.search,
          method: asked.method,
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
  // Calls of the test itself, on behalf of its browser.
  server.on('connect', ({ url = '' }, client: Socket) => tunnel(url, client, localAddress))
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

/** Connects a client with the port of this machine that it asks for. */
function tunnel(url: string, client: Socket, localAddress: string | undefined): void {
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
}

/** A file that existed before the run; a visit that measures loads hundreds of them. */
function isBuilt({ headers }: IncomingMessage): boolean {
  return headers['cache-control']?.includes('immutable') === true
}

/** Records what passes; decompresses it on demand. */
function keep({ method = '', url = '' }: IncomingMessage, answered: IncomingMessage): () => Answer {
  const chunks: Buffer[] = []
  answered.on('data', (chunk: Buffer) => chunks.push(chunk))
  const { rawHeaders, headers } = answered
  return () => {
    const body = unpacked(Buffer.concat(chunks), headers['content-encoding'])
    return { method, url, headers: rawHeaders, body: body.toString() }
  }
}

/** The part that was sent: a browser that leaves a page aborts its reads. */
function unpacked(sent: Buffer, encoding: string | undefined): Buffer {
  if (sent.length === 0) return sent
  if (encoding === 'br') return brotliDecompressSync(sent, { finishFlush: constants.BROTLI_OPERATION_FLUSH })
  return encoding === 'gzip' ? gunzipSync(sent, { finishFlush: constants.Z_SYNC_FLUSH }) : sent
}
