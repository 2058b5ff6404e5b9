import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loneGatewayOfThisFile, madeUpKeyBeside, unknownKeyBeside } from '../support/lone-gateway.ts'

const connectionsMax = 16
const { createKey, gateway } = await loneGatewayOfThisFile({
  GATEWAY_CONNECTIONS_MAX: String(connectionsMax),
})
const owner = await createKey()
const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })

async function open(): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

function headOf(key: string, headers: readonly string[]): string {
  const all = ['host: x', `authorization: Bearer ${key}`, 'content-type: application/json', ...headers]
  return `POST /v1/chat/completions HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** Status of the first answer to what is sent as it is. */
async function statusOf(socket: Socket, text: string): Promise<number> {
  socket.write(text)
  const [data] = await once(socket, 'data')
  return Number(String(data).split(' ')[1])
}

/** The body as one chunk. */
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const lengthOf = (text: string) => `content-length: ${text.length}`

describe('a request', () => {
  test.each([
    ['with two keys', [lengthOf(body), 'Authorization: Bearer sk-other'], body],
    ['in another coding than chunked', ['transfer-encoding: gzip, chunked'], chunked],
    ['in two codings', ['transfer-encoding: gzip', 'transfer-encoding: chunked'], chunked],
  ])('%s is 400', async (_name, headers, sent) => {
    expect(await statusOf(await open(), headOf(owner.key, headers) + sent)).toBe(400)
  })

  test('that waits to be asked for its body is asked only for a key that passes, and for a large one that works', async () => {
    const large = 'content-length: 100000'
    const expectation = 'expect: 100-continue'
    expect(await statusOf(await open(), headOf(madeUpKeyBeside(owner), [lengthOf(body), expectation]))).toBe(
      401,
    )
    expect(await statusOf(await open(), headOf(unknownKeyBeside(owner), [large, expectation]))).toBe(401)
    expect(await statusOf(await open(), headOf(owner.key, [large, expectation]))).toBe(100)
    const asked = await open()
    expect(await statusOf(asked, headOf(owner.key, [lengthOf(body), expectation]))).toBe(100)
    expect(await statusOf(asked, body)).toBe(200)
  })
})

test('one connection too many is closed at once, and probes are answered all the same', async () => {
  const sockets = []
  for (let n = 0; n < connectionsMax; n++) sockets.push(await open())
  const refused = await open()
  await once(refused, 'close')
  expect((await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`)).status).toBe(200)
  for (const socket of sockets) expect(socket.destroyed).toBe(false)
})
