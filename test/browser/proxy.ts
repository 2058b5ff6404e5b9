import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** Between one browser and everything that it calls; what passes is not looked at. */
export type HttpProxy = {
  readonly server: string
  /** From now on what these calls ask is sent so much later; 0: at once. */
  delay(isMeant: (url: URL) => boolean, ms: number): void
  stop(): void
}

/**
 * Every browser has one, with a network address of its own: the cabinet's throttles count calls of an address, and the
 * whole run would be one.
 */
export async function startProxy(): Promise<HttpProxy> {
  const localAddress =
    process.platform === 'linux'
      ? ['127', randomInt(1, 255), randomInt(255), randomInt(1, 255)].join('.')
      : undefined
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
          answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders)
          answered.pipe(answer)
          answered.on('error', () => answer.destroy())
        },
      )
      onward.on('error', () => answer.destroy())
      answer.on('close', () => onward.destroy())
      asked.pipe(onward)
    }
    if (delayed.isMeant(url)) setTimeout(forward, delayed.ms)
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
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
