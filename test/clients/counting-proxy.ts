import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

/** A request that went through. */
export type CountedRequest = {
  readonly method: string
  readonly path: string
  /** Of the response; 0 until it comes. */
  status: number
}

export type CountingProxy = {
  /** Ends with `/v1`. */
  readonly baseUrl: string
  /** In the order in which they came. */
  readonly requests: readonly CountedRequest[]
  /** Their bodies, each byte as one character. */
  readonly bodies: readonly string[]
  stop(): Promise<void>
}

/** A proxy between a client and a gateway that changes nothing and counts what the client sends. */
export async function startCountingProxy(gatewayUrl: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(gatewayUrl)
  const requests: CountedRequest[] = []
  const bodies: string[] = []
  const pass = (incoming: IncomingMessage) => {
    const { method = '', url: path = '', headers } = incoming
    const counted: CountedRequest = { method, path, status: 0 }
    const at = requests.push(counted) - 1
    bodies[at] = ''
    incoming.on('data', (bytes: Buffer) => {
      bodies[at] += bytes.toString('latin1')
    })
    const options: RequestOptions = { hostname, port, method, path, headers, agent: false }
    const outgoing = httpRequest(options)
    outgoing.on('response', ({ statusCode = 0 }) => {
      counted.status = statusCode
    })
    return outgoing
  }
  const server = createServer((incoming, response) => forward(incoming, response, pass(incoming)))
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    const outgoing = pass(incoming)
    outgoing.on('response', (answer) => void passAnswerOn(answer, socket))
    outgoing.on('error', () => socket.destroy())
    socket.on('error', () => outgoing.destroy())
    outgoing.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: ownPort } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${ownPort}/v1`,
    requests,
    bodies,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  outgoing: ReturnType<typeof httpRequest>,
): void {
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  // The gateway may answer and close before a body is read: the client gets the answer all the same.
  outgoing.on('error', () => {
    if (!response.headersSent) response.destroy()
  })
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
}

/** A rejected upgrade is an ordinary response. */
async function passAnswerOn(answer: IncomingMessage, socket: Duplex): Promise<void> {
  const headers = answer.rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 ? `${name}: ${all[at + 1]}` : [],
  )
  socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${headers.join('\r\n')}\r\n\r\n`)
  for await (const bytes of answer) socket.write(bytes)
  socket.end()
}
