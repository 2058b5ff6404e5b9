import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OpenConnections, trackConnections } from '#gateway/http/open-connections'

/** More than the sockets between server and client take. */
const large = 'x'.repeat(20_000_000)
const arrivalMs = 60_000

type Tracked = { readonly server: Server; readonly connections: OpenConnections }

async function serverOfThisTest(answer: RequestListener, unreadMs?: number): Promise<Tracked> {
  const server = createServer(answer)
  const connections = trackConnections(server, unreadMs)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { server, connections }
}

const get = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

/** Sends requests, and reads nothing until the test asks. */
async function ask(server: Server, requests: string) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(requests)
  return socket
}

/** Reads to the end, with a pause every 4 MB. */
async function readSteadily(socket: Socket, pauseMs: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let pausedAt = 0
  for await (const part of socket) {
    parts.push(part)
    if (socket.bytesRead - pausedAt < 4e6) continue
    pausedAt = socket.bytesRead
    await setTimeout(pauseMs)
  }
  return Buffer.concat(parts)
}

function closeAndDrain({ server, connections }: Tracked): Promise<void> {
  return connections.drain(once(server.close(), 'close'), arrivalMs)
}

test('a closing server waits for answers that are ended and still leaving, and for no idle connection', async () => {
  let ended = 0
  const tracked = await serverOfThisTest(({ url }, response) => {
    response.end(url === '/' ? large : 'short')
    ended += 1
  })
  const idle = (await ask(tracked.server, get.replace('/', '/short'))).resume()
  const reading = await ask(tracked.server, get)
  await vi.waitFor(() => expect(ended).toBe(2))
  const drained = closeAndDrain(tracked)
  expect((await readSteadily(reading, 150)).length).toBeGreaterThan(large.length)
  await drained
  expect(idle.destroyed).toBe(true)
})

test('an answer that waits behind such a one is waited for, too', async () => {
  let asked = 0
  const tracked = await serverOfThisTest((_request, response) => {
    asked += 1
    response.end(large)
  })
  const reading = await ask(tracked.server, get + get)
  await vi.waitFor(() => expect(asked).toBe(2))
  const drained = closeAndDrain(tracked)
  expect((await readSteadily(reading, 150)).length).toBeGreaterThan(2 * large.length)
  await drained
})

describe('of an ended answer', () => {
  const unreadMs = 400

  test.each([
    ['alone', get],
    ['before another one', get + get],
  ])(
    'that stands %s and of which the client reads nothing, the connection is closed',
    async (_name, requests) => {
      let closed = 0
      const { server } = await serverOfThisTest((_request, response) => {
        response.end(large)
        response.once('close', () => (closed += 1))
      }, unreadMs)
      const silent = await ask(server, requests)
      await vi.waitFor(() => expect(closed).toBeGreaterThan(0), { timeout: 20 * unreadMs })
      expect((await readSteadily(silent, 0)).length).toBeLessThan(large.length)
    },
  )

  test('that is read slowly, all arrives, however long it takes', async () => {
    const { server } = await serverOfThisTest((_request, response) => response.end(large.repeat(2)), unreadMs)
    const begunAtMs = performance.now()
    const reading = await ask(server, get.replace('host', 'connection: close\r\nhost'))
    expect((await readSteadily(reading, unreadMs / 2)).length).toBeGreaterThan(2 * large.length)
    expect(performance.now() - begunAtMs).toBeGreaterThan(4 * unreadMs)
  })

  test('the next one on its connection may be silent for longer', async () => {
    let served: Socket | undefined
    const { server } = await serverOfThisTest(({ url, socket }, response) => {
      served = socket
      if (url === '/') response.end(large)
      else setTimeout(4 * unreadMs).then(() => response.end('late'))
    }, unreadMs)
    const reading = await ask(
      server,
      get + get.replace('/', '/late').replace('host', 'connection: close\r\nhost'),
    )
    await vi.waitFor(() => expect(served?.timeout).toBe(unreadMs)) // the first one is timed
    expect((await readSteadily(reading, unreadMs / 8)).toString('latin1')).toMatch(/\r\n\r\nlate$/)
  })
})
