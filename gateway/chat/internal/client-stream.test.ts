import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { type ClientStream, createClientStream } from './client-stream.ts'

const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => void server.closeAllConnections())

type Opened = { readonly stream: ClientStream; readonly raw: ServerResponse; readonly client: Socket }

/** A stream to a client that has sent its request and has received nothing yet. */
async function open(): Promise<Opened> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  const [, raw] = (await once(server, 'request')) as [unknown, ServerResponse]
  const unwanted = (): never => {
    throw new Error('a client that reads at once was taken for a slow one')
  }
  const stream = createClientStream(raw, {
    facts: () => ({ requestId: 'the-request' }),
    keepAlive: ': keep-alive\n\n',
    keepAliveMs: 60_000,
    onFull: unwanted,
    onDrain: unwanted,
    onCrash: unwanted,
  })
  return { stream, raw, client }
}

/** Ends the answer; all that the client got. */
async function endOf({ stream, raw, client }: Opened): Promise<string> {
  stream.letGo()
  raw.end()
  const parts: Buffer[] = []
  for await (const part of client) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

test('the first frames leave in the turn in which they came, after the headers; later ones of one turn as one chunk', async () => {
  const opened = await open()
  const { stream, raw } = opened
  expect(stream.hasBegun()).toBe(false)
  for (const frame of ['first ', 'frames']) stream.write(frame)
  await Promise.resolve()
  const begunBytes = raw.socket?.bytesWritten ?? 0
  expect(begunBytes).toBeGreaterThan('first frames'.length)
  for (const frame of ['some ', 'more', ' é']) stream.write(frame)
  await Promise.resolve()
  expect(raw.socket?.bytesWritten).toBe(begunBytes)
  await nextTurn()
  const [head, body] = (await endOf(opened)).split('\r\n\r\n', 2)
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*x-request-id: the-request\r\n/)
  expect(body).toBe('c\r\nfirst frames\r\nc\r\nsome more é\r\n0')
})

test('streams that write in one turn take several, so that other work on the loop runs in between', async () => {
  const all: Opened[] = []
  while (all.length < 40) all.push(await open())
  for (const { stream } of all) stream.write('first')
  await nextTurn()
  const begunBytes = all.map(({ raw }) => raw.socket?.bytesWritten)
  const countWritten = () => all.filter(({ raw }, n) => raw.socket?.bytesWritten !== begunBytes[n]).length
  for (const { stream } of all) stream.write('second')
  await nextTurn()
  expect(countWritten()).toBe(32)
  await nextTurn()
  expect(countWritten()).toBe(40)
  for (const text of await Promise.all(all.map(endOf)))
    expect(text).toContain('5\r\nfirst\r\n6\r\nsecond\r\n')
})

test('what was written and has not left leaves before the answer ends', async () => {
  const opened = await open()
  for (const frame of ['all', ' of it']) opened.stream.write(frame)
  expect(await endOf(opened)).toContain('9\r\nall of it\r\n')
})
