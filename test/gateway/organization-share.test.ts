import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'

const mebibyte = 1024 * 1024
const { createKey, gateway, send } = await loneGatewayOfThisFile({
  GATEWAY_BODY_BYTES_MAX: String(mebibyte),
  GATEWAY_HELD_BODY_BYTES_MAX: String(8 * mebibyte),
})

async function heldBytes(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
  return Number(/^model_gateway_held_body_bytes (\d+)/m.exec(text)?.[1])
}

/** Sends all of a body but its end, and keeps the connection. */
async function hold(key: string, bytes: number): Promise<void> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const before = await heldBytes()
  const headers = ['host: x', `authorization: Bearer ${key}`, 'content-type: application/json']
  const head = `POST /v1/chat/completions HTTP/1.1\r\n${headers.join('\r\n')}\r\ncontent-length: ${bytes + 1}\r\n\r\n`
  socket.write(head + ' '.repeat(bytes))
  await vi.waitFor(async () => expect(await heldBytes()).toBe(before + bytes))
}

test('an organization holds an eighth of the memory for bodies, then its large ones are 429; others are served', async () => {
  const [greedy, other] = [await createKey(), await createKey()]
  await hold(greedy.key, (0.9 * mebibyte) | 0)
  const large = JSON.stringify({
    model: 'demo/echo',
    messages: [{ role: 'user', content: 'x'.repeat(mebibyte / 4) }],
  })
  const refused = await send({ key: greedy.key, body: large })
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1'])
  expect((await send({ key: other.key, body: large })).status).toBe(200)
  const small = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })
  expect((await send({ key: greedy.key, body: small })).status).toBe(200)
})
