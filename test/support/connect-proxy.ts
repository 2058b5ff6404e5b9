import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Certificate } from './certificate.ts'

type ConnectProxySettings = {
  /** `user:password`, which every tunnel then needs. */
  readonly login?: string
  /** Of the connection to the proxy itself. */
  readonly certificate?: Certificate
  /** Instead of opening tunnels. */
  readonly refusal?: number | 'silence'
}

export type ConnectProxy = {
  /** Without a login. */
  readonly url: string
  /** `host:port` of every tunnel that was asked for, in order. */
  readonly tunnels: readonly string[]
  stop(): Promise<void>
}

/**
 * A proxy that opens tunnels (RFC 9110, 9.3.6) and nothing else, as in companies without other ways out. It connects
 * every host to the same port of this machine.
 */
export async function startConnectProxy(settings: ConnectProxySettings = {}): Promise<ConnectProxy> {
  const { certificate } = settings
  const server = certificate === undefined ? createServer() : createTlsServer(certificate)
  const tunnels: string[] = []
  const open = new Set<Duplex>()
  server.on('request', (_request, response) => response.writeHead(405).end())
  server.on('connection', (socket) => keep(open, socket))
  server.on('connect', (request, socket, head) => {
    tunnels.push(request.url ?? '')
    socket.on('error', () => undefined)
    const status = refusalOf(request, settings)
    if (status === 'silence') return
    if (status !== undefined) socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
    else keep(open, join(request, socket, head))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const scheme = certificate === undefined ? 'http' : 'https'
  return {
    url: `${scheme}://127.0.0.1:${portOf(server)}`,
    tunnels,
    async stop() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function refusalOf(
  { url = '', headers }: IncomingMessage,
  { login, refusal }: ConnectProxySettings,
): number | 'silence' | undefined {
  if (refusal !== undefined) return refusal
  if (headers.host !== url || !/^[^:/]+:\d+$/.test(url)) return 400
  const wanted = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`
  return headers['proxy-authorization'] === wanted ? undefined : 407
}

function join({ url = '' }: IncomingMessage, client: Duplex, head: Buffer): Duplex {
  const target = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    target.write(head)
    target.pipe(client).pipe(target)
  })
  target.on('error', () => client.destroy())
  client.on('close', () => target.destroy())
  return target
}

function keep(open: Set<Duplex>, socket: Duplex): void {
  open.add(socket)
  socket.on('close', () => open.delete(socket))
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
